/** What one sweep did. */
export interface SweepCounts {
  requeued: number;
  ended: number;
  /** What is due, but waits for a delivery on its way, or for another transaction. */
  waiting: number;
  stopsRequested: number;
  sessionsEnded: number;
  uploadsRemoved: number;
  artifactsRemoved: number;
}

export type SweepStep =
  | 'expire_leases'
  | 'request_stops'
  | 'end_sessions'
  | 'count_denials'
  | 'remove_uploads'
  | 'remove_artifacts'
  | 'create_partitions';

/** One thing that could not be done; a later sweep tries it again. */
export interface SweepFailure {
  readonly step: SweepStep;
  /** The run, or null where the whole step failed. */
  readonly runId: string | null;
  readonly error: unknown;
}

export interface SweepReport extends Readonly<SweepCounts> {
  readonly failures: readonly SweepFailure[];
}

/** A sweep as it goes: no failure keeps anything else from being done. */
export class Sweep {
  readonly counts: SweepCounts = {
    requeued: 0,
    ended: 0,
    waiting: 0,
    stopsRequested: 0,
    sessionsEnded: 0,
    uploadsRemoved: 0,
    artifactsRemoved: 0,
  };
  readonly #failures: SweepFailure[] = [];

  /** Does `work`, and counts nothing but the failure when it throws. */
  async attempt(step: SweepStep, runId: string | null, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#failures.push({ step, runId, error });
    }
  }

  get report(): SweepReport {
    return { ...this.counts, failures: this.#failures };
  }
}
