import { Injectable } from '@nestjs/common';
import type { ReasonCode } from '@valise/contracts/failure';
import type { Tx } from '../database/tx.js';
import type { Claim } from '../leases/holder.js';
import type { Decider, Execution } from './execution.js';

/** How an attempt ends without a completion. */
export interface Ending {
  readonly status: 'failed' | 'cancelled' | 'timed_out' | 'lost';
  readonly decidedBy: Exclude<Decider, 'completion'>;
  readonly reasonCode: ReasonCode | null;
  readonly lease: 'released' | 'completed';
}

/** How an attempt ends on its worker's word. */
export interface Completed {
  readonly status: 'succeeded' | 'failed' | 'cancelled' | 'timed_out';
  readonly reasonCode: ReasonCode | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly callbackSequence: number;
  readonly callbackTokenDigest: string;
  /** null when no such log is stored. */
  readonly logArtifactId: string | null;
}

// The run follows its attempt only while that is the run's newest.
const NEWEST = 'run_id = moved.run_id AND newest_attempt_number = moved.attempt_number';

/**
 * The moves of an attempt, each with what it does to the run and the lease in one statement. All three rows are locked
 * by the caller, who has decided.
 */
@Injectable()
export class MoveRepository {
  /** queued → claimed; run → dispatching; the lease is the claim's, with nothing authorised yet. */
  async claim(tx: Tx, execution: Execution, claim: Claim, durationMs: number): Promise<void> {
    await tx.query(
      `WITH moved AS (
         UPDATE attempts SET status = 'claimed', claims = claims + 1, decided_by = NULL, updated_at_ms = clock_ms()
          WHERE attempt_id = $1 RETURNING run_id, attempt_number),
       run_moved AS (
         UPDATE runs SET status = 'dispatching', updated_at_ms = clock_ms() FROM moved WHERE runs.${NEWEST})
       UPDATE leases
          SET state = 'leased', generation = $2, version = version + 1, worker_id = $3, session_id = $4,
              worker_generation = $5, offer_id = $6, token_digest = $7, duration_ms = $8::integer, acquired_at_ms = now_ms,
              renewed_at_ms = now_ms, expires_at_ms = now_ms + $8::integer, updated_at_ms = now_ms,
              authorisations = 0, custody_failures = 0, open_record_id = NULL, open_since_ms = NULL
         FROM clock_ms() AS now_ms WHERE attempt_id = $1`,
      [
        execution.attempt.attemptId,
        claim.leaseGeneration,
        claim.workerId,
        claim.sessionId,
        claim.workerGeneration,
        claim.offerId,
        claim.tokenDigest,
        durationMs,
      ],
    );
  }

  /** claimed → starting; the run's deadline is the plan's timeout from now. */
  async start(tx: Tx, { attempt }: Execution): Promise<void> {
    await tx.query(
      `WITH moved AS (
         UPDATE attempts SET status = 'starting', updated_at_ms = clock_ms()
          WHERE attempt_id = $1 RETURNING run_id, attempt_number)
       UPDATE runs
          SET deadline_at_ms = clock_ms() + (
                SELECT timeout_ms FROM task_execution_revisions plan
                 WHERE plan.project_id = runs.project_id AND plan.task_id = runs.task_id
                   AND plan.revision = runs.revision),
              updated_at_ms = clock_ms()
         FROM moved WHERE runs.${NEWEST}`,
      [attempt.attemptId],
    );
  }

  /** starting → running; run → running. */
  async acknowledgeRunning(
    tx: Tx,
    { attempt }: Execution,
    process: {
      readonly executorHandle: string;
      readonly logArtifactId: string;
      readonly callbackSequence: number;
      readonly callbackTokenDigest: string;
    },
  ): Promise<void> {
    await tx.query(
      `WITH moved AS (
         UPDATE attempts SET status = 'running', executor_handle = $2, log_artifact_id = $3, callback_sequence = $4,
                callback_token_digest = $5, started_at_ms = clock_ms(), updated_at_ms = clock_ms()
          WHERE attempt_id = $1 RETURNING run_id, attempt_number)
       UPDATE runs SET status = 'running', updated_at_ms = clock_ms() FROM moved WHERE runs.${NEWEST}`,
      [
        attempt.attemptId,
        process.executorHandle,
        process.logArtifactId,
        process.callbackSequence,
        process.callbackTokenDigest,
      ],
    );
  }

  /** The attempt ends, the run with it, and the lease is nobody's. */
  async end(tx: Tx, { attempt }: Execution, ending: Ending): Promise<void> {
    await tx.query(
      `WITH moved AS (
         UPDATE attempts SET status = $2, decided_by = $3, reason_code = $4, finished_at_ms = clock_ms(),
                updated_at_ms = clock_ms()
          WHERE attempt_id = $1 RETURNING run_id, attempt_number),
       run_moved AS (
         UPDATE runs SET status = $2, updated_at_ms = clock_ms() FROM moved WHERE runs.${NEWEST})
       UPDATE leases SET state = $5, version = version + 1, updated_at_ms = clock_ms() WHERE attempt_id = $1`,
      [attempt.attemptId, ending.status, ending.decidedBy, ending.reasonCode, ending.lease],
    );
  }

  /** The attempt ends as its worker says, the run with it, and the lease is completed. */
  async complete(tx: Tx, { attempt }: Execution, completed: Completed): Promise<void> {
    await tx.query(
      `WITH moved AS (
         UPDATE attempts SET status = $2, decided_by = 'completion', reason_code = $3, exit_code = $4, signal = $5,
                callback_sequence = $6, callback_token_digest = $7, log_artifact_id = $8,
                finished_at_ms = clock_ms(), updated_at_ms = clock_ms()
          WHERE attempt_id = $1 RETURNING run_id, attempt_number),
       run_moved AS (
         UPDATE runs SET status = $2, updated_at_ms = clock_ms() FROM moved WHERE runs.${NEWEST})
       UPDATE leases SET state = 'completed', version = version + 1, updated_at_ms = clock_ms()
        WHERE attempt_id = $1`,
      [
        attempt.attemptId,
        completed.status,
        completed.reasonCode,
        completed.exitCode,
        completed.signal,
        completed.callbackSequence,
        completed.callbackTokenDigest,
        completed.logArtifactId,
      ],
    );
  }

  /** Back to the queue, at the place the attempt had: run queued, deadline and stop cleared, the lease is nobody's. */
  async requeue(tx: Tx, { attempt }: Execution, decidedBy: Decider): Promise<void> {
    await tx.query(
      `WITH moved AS (
         UPDATE attempts SET status = 'queued', decided_by = $2, updated_at_ms = clock_ms()
          WHERE attempt_id = $1 RETURNING run_id, attempt_number),
       run_moved AS (
         UPDATE runs SET status = 'queued', deadline_at_ms = NULL, stop_requested_at_ms = NULL,
                updated_at_ms = clock_ms()
           FROM moved WHERE runs.${NEWEST})
       UPDATE leases SET state = 'released', version = version + 1, updated_at_ms = clock_ms() WHERE attempt_id = $1`,
      [attempt.attemptId, decidedBy],
    );
  }
}
