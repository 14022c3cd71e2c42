import type { AttemptStatus, RunStatus } from '@valise/contracts/wire';
import type { ReasonCode } from '@valise/contracts/failure';

/** A run as the authority decides about it. Times are on the database's clock. */
export interface Run {
  readonly runId: string;
  readonly projectId: string;
  readonly taskId: string;
  readonly taskRevision: string;
  readonly status: RunStatus;
  readonly priority: number;
  readonly newestAttemptNumber: number;
  readonly cancelRequestedAtMs: number | null;
  /** Set when the deadline passed and the process was asked to stop. */
  readonly stopRequestedAtMs: number | null;
  readonly deadlineAtMs: number | null;
}

export type Decider = 'start_failure' | 'completion' | 'sweeper' | 'operator';

export interface Attempt {
  readonly attemptId: string;
  readonly attemptNumber: number;
  readonly status: AttemptStatus;
  readonly claims: number;
  /** Whose word ended the last claim. */
  readonly decidedBy: Decider | null;
  readonly executorHandle: string | null;
  readonly logArtifactId: string | null;
  readonly callbackSequence: number;
  readonly callbackTokenDigest: string | null;
  readonly reasonCode: ReasonCode | null;
  readonly queuedAtMs: number;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly finishedAtMs: number | null;
}

/** The attempt's one lease row. Holder columns keep the last holder after release and completion. */
export interface Lease {
  readonly state: 'leased' | 'released' | 'completed';
  readonly generation: number;
  readonly version: number;
  readonly workerId: string | null;
  readonly sessionId: string | null;
  readonly workerGeneration: number | null;
  readonly offerId: string | null;
  readonly tokenDigest: string | null;
  readonly acquiredAtMs: number;
  readonly renewedAtMs: number;
  readonly expiresAtMs: number;
  readonly updatedAtMs: number;
  readonly authorisations: number;
  /** How many deliveries of the claim ended because the material could not be read. */
  readonly custodyFailures: number;
  /** When the authorised delivery without an outcome was decided, or null. */
  readonly openSinceMs: number | null;
}

/** One attempt with its run and its lease, all three locked in that order. */
export interface Execution {
  readonly run: Run;
  readonly attempt: Attempt;
  readonly lease: Lease;
}

const ENDED: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled', 'timed_out', 'lost']);

/** Whether a run or an attempt has ended; an ended attempt never moves again. */
export function ended(status: AttemptStatus | RunStatus): boolean {
  return ENDED.has(status);
}
