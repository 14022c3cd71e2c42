import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { parseSpiffeId, type SpiffeId } from '@valise/contracts/documents';

/** Who is at the other end, as its certificate says. */
export interface CallerIdentity extends SpiffeId {
  /** Upper-case hex, as X.509 tools print it. */
  readonly certificateSerial: string;
}

interface CertificateFacts {
  readonly identity: CallerIdentity | null;
  readonly validFromMs: number;
  readonly validToMs: number;
}

/** Facts are read once per socket: the certificate of a TLS 1.3 connection cannot change. */
const facts = new WeakMap<TLSSocket, CertificateFacts>();

/**
 * The caller's identity in our trust domain, in a certificate that is inside its validity now. Null for everything
 * else, whatever the common name says.
 */
export function callerIdentity(
  request: IncomingMessage,
  trustDomain: string,
  nowMs: number,
): CallerIdentity | null {
  const { socket } = request;
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null;
  let known = facts.get(socket);
  if (!known) {
    known = readCertificate(socket);
    facts.set(socket, known);
  }
  // A kept-alive connection outlives its certificate, so validity is checked for each request.
  if (nowMs < known.validFromMs || known.validToMs <= nowMs) return null;
  return known.identity?.trustDomain === trustDomain ? known.identity : null;
}

function readCertificate(socket: TLSSocket): CertificateFacts {
  const certificate = socket.getPeerX509Certificate();
  const id = parseSpiffeId(certificate?.subjectAltName);
  if (!certificate || !id) return { identity: null, validFromMs: 0, validToMs: 0 };
  return {
    identity: { ...id, certificateSerial: certificate.serialNumber },
    validFromMs: Date.parse(certificate.validFrom),
    validToMs: Date.parse(certificate.validTo),
  };
}
