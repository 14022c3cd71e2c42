import type { TLSSocket } from 'node:tls';
import type { HandshakeFailure } from './transport-facts.js';

/** Node's and OpenSSL's codes for what we tell apart; everything else is `other`. */
const FAILURES: ReadonlyMap<string, HandshakeFailure> = new Map<string, HandshakeFailure>([
  ['ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE', 'no_certificate'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'untrusted_issuer'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'untrusted_issuer'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'untrusted_issuer'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'untrusted_issuer'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'untrusted_issuer'],
  ['CERT_SIGNATURE_FAILURE', 'untrusted_issuer'],
  ['CERT_HAS_EXPIRED', 'certificate_expired'],
  ['CERT_NOT_YET_VALID', 'certificate_not_yet_valid'],
  ['INVALID_PURPOSE', 'certificate_invalid'],
  ['INVALID_CA', 'certificate_invalid'],
  ['PATH_LENGTH_EXCEEDED', 'certificate_invalid'],
  ['CERT_CHAIN_TOO_LONG', 'certificate_invalid'],
  ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'protocol_mismatch'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'protocol_mismatch'],
  ['ERR_SSL_HTTP_REQUEST', 'protocol_mismatch'],
  ['ERR_SSL_NO_SHARED_CIPHER', 'protocol_mismatch'],
  ['ERR_SSL_NO_SUITABLE_KEY_SHARE', 'protocol_mismatch'],
  ['ERR_TLS_HANDSHAKE_TIMEOUT', 'timeout'],
  ['ECONNRESET', 'connection_closed'],
  ['EPIPE', 'connection_closed'],
]);

/**
 * Why the handshake failed. The client's certificate is judged after its handshake, and then the error is a mere
 * hang-up: the server's reason stands in the socket.
 */
export function handshakeFailureOf(error: NodeJS.ErrnoException, socket: TLSSocket): HandshakeFailure {
  // The types say Error, but Node keeps the code alone.
  const verdict: unknown = socket.authorizationError;
  const code = typeof verdict === 'string' ? verdict : error.code;
  return FAILURES.get(code ?? '') ?? 'other';
}
