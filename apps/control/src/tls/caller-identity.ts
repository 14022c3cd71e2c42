import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';

export type CallerKind = 'worker' | 'operator';

/** Who is at the other end, as its certificate says. */
export interface CallerIdentity {
  readonly kind: CallerKind;
  readonly id: string;
  /** Upper-case hex, as X.509 tools print it. */
  readonly certificateSerial: string;
}

interface CertificateFacts {
  readonly identity: CallerIdentity | null;
  readonly validFromMs: number;
  readonly validToMs: number;
}

const ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** Facts are read once per socket: the certificate of a TLS 1.3 connection cannot change. */
const facts = new WeakMap<TLSSocket, CertificateFacts>();

/**
 * The caller's identity: exactly one URI SAN, `spiffe://<trust domain>/<kind>/<id>`, in a certificate that is inside
 * its validity now. Null for everything else, whatever the common name says.
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
    known = readCertificate(socket, trustDomain);
    facts.set(socket, known);
  }
  // A kept-alive connection outlives its certificate, so validity is checked for each request.
  return known.validFromMs <= nowMs && nowMs < known.validToMs ? known.identity : null;
}

function readCertificate(socket: TLSSocket, trustDomain: string): CertificateFacts {
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) return { identity: null, validFromMs: 0, validToMs: 0 };
  return {
    identity: parseIdentity(certificate.subjectAltName, trustDomain, certificate.serialNumber),
    validFromMs: Date.parse(certificate.validFrom),
    validToMs: Date.parse(certificate.validTo),
  };
}

/**
 * `subjectAltName` is one line of entries joined by `, `. Node quotes an entry that holds a comma or a quote
 * (CVE-2021-44532): such a name could imitate further entries, so a certificate with one names nobody.
 */
export function parseIdentity(
  subjectAltName: string | undefined,
  trustDomain: string,
  serial: string,
): CallerIdentity | null {
  if (subjectAltName === undefined || subjectAltName.includes('"')) return null;
  const uris = subjectAltName.split(', ').filter((entry) => entry.startsWith('URI:'));
  const [uri] = uris;
  if (uri === undefined || uris.length !== 1) return null;
  const prefix = `URI:spiffe://${trustDomain}/`;
  if (!uri.startsWith(prefix)) return null;
  const [kind, id, ...rest] = uri.slice(prefix.length).split('/');
  if ((kind !== 'worker' && kind !== 'operator') || id === undefined || rest.length > 0 || !ID.test(id))
    return null;
  return { kind, id, certificateSerial: serial };
}
