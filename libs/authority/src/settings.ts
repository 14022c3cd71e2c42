/** The figures the authority decides with. Times are milliseconds on the database's clock unless said otherwise. */
export interface AuthoritySettings {
  /** A statement, the wait for a lock, and an idle transaction end after these. */
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** A transaction with its retries ends within this, on the process's monotonic clock. */
  readonly transactionDeadlineMs: number;
  /** Bytes of an authorised delivery leave within this, or not at all. */
  readonly responseDeadlineMs: number;
  readonly maxAuthorisations: number;
  /** A claim whose material could not be read so often gets no delivery any more. */
  readonly maxCustodyFailures: number;
  readonly maxClaims: number;
  /** Denied deliveries of one worker past this many a minute are counted instead of recorded one by one. */
  readonly denialsPerMinute: number;
  /** How long after its deadline a process is asked to stop. */
  readonly timeoutGraceMs: number;
  readonly idleRetryAfterMs: number;
  readonly artifactQuotaBytes: number;
  /** An upload that has not become an artefact by then is removed: longer than any request lives. */
  readonly uploadLifetimeMs: number;
  /** An artefact is kept for so long. */
  readonly artifactLifetimeMs: number;
  readonly sweepBatch: number;
  /** A sweep removes no further log once those before hold so many bytes. */
  readonly sweepBytes: number;
  /** Names that bindings may have although the name policy refuses them. */
  readonly allowedNames: ReadonlySet<string>;
}

export const DEFAULT_SETTINGS: AuthoritySettings = {
  statementTimeoutMs: 5000,
  lockTimeoutMs: 3000,
  idleTimeoutMs: 10_000,
  connectTimeoutMs: 3000,
  transactionDeadlineMs: 8000,
  responseDeadlineMs: 5000,
  maxAuthorisations: 8,
  maxCustodyFailures: 5,
  maxClaims: 5,
  denialsPerMinute: 10,
  timeoutGraceMs: 5000,
  idleRetryAfterMs: 1000,
  artifactQuotaBytes: 10 * 1024 ** 3,
  uploadLifetimeMs: 900_000,
  artifactLifetimeMs: 90 * 86_400_000,
  sweepBatch: 50,
  sweepBytes: 64 * 1024 ** 2,
  allowedNames: new Set(),
};

/** Injection token of the complete settings. */
export const AUTHORITY_SETTINGS = Symbol('AuthoritySettings');
