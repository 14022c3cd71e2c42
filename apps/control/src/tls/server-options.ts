import type { ServerOptions } from 'node:https';
import { constants } from 'node:crypto';
import type { Credentials } from './credentials.js';

const HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * Mutual TLS 1.3: a client without a certificate of our authorities does not get past the handshake. Revocation lists
 * are not among the options: OpenSSL would refuse everybody, and not say why, when one is missing or out of date.
 */
export function mutualTlsOptions({ certificate, key, authorities }: Credentials): ServerOptions {
  return {
    cert: certificate,
    key,
    // What we have parsed, so that OpenSSL trusts what we judge by and nothing else of the file.
    ca: authorities.map((authority) => authority.toString()),
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
    // A resumed session skips the certificate's expiry and revocation, so none is ever resumed.
    secureOptions: constants.SSL_OP_NO_TICKET,
    sessionTimeout: 1,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
  };
}
