import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { parseSpiffeId, type SpiffeId } from '@valise/contracts/documents';
import { pathTo } from './certificate-path.js';
import type { Credentials } from './credentials.js';
import { serialOf } from './revocation-list.js';
import type { CertificateRefusal } from './transport-facts.js';

/** Who is at the other end, as its certificate says. */
export interface CallerIdentity extends SpiffeId {
  /** Upper-case hex, as X.509 tools print it. */
  readonly certificateSerial: string;
}

/** What never changes about a connection's certificate while one set of credentials is in force. */
interface CertificateFacts {
  readonly identity: CallerIdentity | null;
  /** Every certificate of the path below the root, by the authority that signed it. */
  readonly signed: readonly { readonly by: X509Certificate; readonly serial: string }[];
  readonly validFromMs: number;
  readonly validToMs: number;
}

export interface ClientTrustOptions {
  readonly trustDomain: string;
  /** How long past its nextUpdate a revocation list still counts. */
  readonly graceMs: number;
}

/** Judges certificates by one set of credentials; another set is another trust, which knows nothing of this one. */
export class ClientTrust {
  /** Null for a certificate that leads to none of our authorities. */
  readonly #facts = new WeakMap<TLSSocket, CertificateFacts | null>();

  constructor(
    private readonly credentials: Pick<Credentials, 'authorities' | 'revocation'>,
    private readonly options: ClientTrustOptions,
  ) {}

  /** The caller that the connection's certificate names now, or what is wrong with that certificate. */
  judge(socket: TLSSocket, nowMs: number): CallerIdentity | CertificateRefusal {
    let facts = this.#facts.get(socket);
    if (facts === undefined) {
      facts = this.#read(socket);
      this.#facts.set(socket, facts);
    }
    if (!facts) return 'untrusted';
    // A kept-alive connection outlives its certificate, so validity and revocation are checked for each request.
    if (nowMs < facts.validFromMs) return 'not_yet_valid';
    if (facts.validToMs <= nowMs) return 'expired';
    return this.#revocation(facts, nowMs) ?? facts.identity ?? 'no_identity';
  }

  #revocation({ signed }: CertificateFacts, nowMs: number): 'revoked' | 'revocation_unknown' | null {
    const { revocation } = this.credentials;
    if (!revocation) return null;
    let isUnknown = false;
    for (const { by, serial } of signed) {
      const list = revocation.get(by);
      if (list?.revoked.has(serial)) return 'revoked';
      if (!list || list.nextUpdateMs + this.options.graceMs <= nowMs) isUnknown = true;
    }
    return isUnknown ? 'revocation_unknown' : null;
  }

  #read(socket: TLSSocket): CertificateFacts | null {
    const leaf = socket.authorized ? socket.getPeerX509Certificate() : undefined;
    const path = leaf && pathTo(this.credentials.authorities, leaf);
    if (!leaf || !path) return null;
    const certificates = [leaf, ...path.map(({ issuer }) => issuer)];
    // A negative serial number (RFC 5280 §4.1.2.2 forbids them) has no sure counterpart in a revocation list.
    if (certificates.some(({ serialNumber }) => serialNumber.startsWith('-'))) return null;
    const id = parseSpiffeId(leaf.subjectAltName);
    return {
      identity:
        id?.trustDomain === this.options.trustDomain ? { ...id, certificateSerial: leaf.serialNumber } : null,
      signed: path.map(({ certificate, issuer }) => ({ by: issuer, serial: serialOf(certificate) })),
      validFromMs: Math.max(...certificates.map(({ validFrom }) => Date.parse(validFrom))),
      validToMs: Math.min(...certificates.map(({ validTo }) => Date.parse(validTo))),
    };
  }
}
