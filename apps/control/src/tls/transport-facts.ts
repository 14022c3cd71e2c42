/** Why a connection never reached a route, as the server saw it. */
export const HANDSHAKE_FAILURES = [
  'no_certificate',
  'untrusted_issuer',
  'certificate_expired',
  'certificate_not_yet_valid',
  'certificate_revoked',
  'certificate_invalid',
  'protocol_mismatch',
  'timeout',
  'connection_closed',
  'other',
] as const;
export type HandshakeFailure = (typeof HANDSHAKE_FAILURES)[number];

/** What is wrong with a certificate that got past the handshake. */
export const CERTIFICATE_REFUSALS = [
  'untrusted',
  'not_yet_valid',
  'expired',
  'revoked',
  'revocation_unknown',
  'no_identity',
] as const;
export type CertificateRefusal = (typeof CERTIFICATE_REFUSALS)[number];

/** The sets of files that are read again while the program runs. */
export const FILE_SETS = ['certificates', 'operators'] as const;
export type FileSet = (typeof FILE_SETS)[number];

/** How the reading of one set went. */
export interface ReloadFacts {
  succeeded: number;
  failed: number;
  /** The files on the disk are not those in force: an alert. */
  failing: boolean;
}

/** What the transport counts and knows, for whoever exposes it; the folder tls writes, everybody else reads. */
export class TransportFacts {
  readonly handshakeFailures = zeroes(HANDSHAKE_FAILURES);
  /** Refused requests, by what is wrong with the caller's certificate. */
  readonly refusedRequests = zeroes(CERTIFICATE_REFUSALS);
  /** Live connections that were destroyed because their certificate is not good any more. */
  readonly destroyedSockets = zeroes(CERTIFICATE_REFUSALS);
  readonly reloads: Readonly<Record<FileSet, ReloadFacts>> = {
    certificates: { succeeded: 0, failed: 0, failing: false },
    operators: { succeeded: 0, failed: 0, failing: false },
  };
  /** End of control's own certificate, in milliseconds since 1970. */
  certificateNotAfterMs = 0;
  /** The earliest end of an authority of the callers. */
  authorityNotAfterMs = 0;
  /** The earliest nextUpdate of a revocation list; null without lists. */
  revocationNextUpdateMs: number | null = null;
  /** A revocation list is past its nextUpdate: an alert, whether or not the grace still holds. */
  revocationOverdue = false;
}

function zeroes<const K extends string>(names: readonly K[]): Record<K, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<K, number>;
}
