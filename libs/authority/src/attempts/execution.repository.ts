import { Injectable } from '@nestjs/common';
import type { ReasonCode } from '@valise/contracts/failure';
import type { AttemptStatus } from '@valise/contracts/wire';
import type { Tx } from '../database/tx.js';
import type { Decider, Execution } from './execution.js';
import { leaseColumns, leaseOf, runColumns, runOf, type LeaseRow, type RunRow } from './execution.row.js';

interface AttemptRow {
  attempt_id: string;
  attempt_number: number;
  attempt_status: AttemptStatus;
  claims: number;
  decided_by: Decider | null;
  executor_handle: string | null;
  log_artifact_id: string | null;
  callback_sequence: number;
  callback_token_digest: string | null;
  reason_code: ReasonCode | null;
  queued_at_ms: number;
  attempt_created_at_ms: number;
  started_at_ms: number | null;
  finished_at_ms: number | null;
}

type ExecutionRow = RunRow & AttemptRow & LeaseRow;

const EXECUTION = `${runColumns('locked_run')},
  locked_attempt.attempt_id, locked_attempt.attempt_number, locked_attempt.status AS attempt_status,
  locked_attempt.claims, locked_attempt.decided_by, locked_attempt.executor_handle, locked_attempt.log_artifact_id,
  locked_attempt.callback_sequence, locked_attempt.callback_token_digest, locked_attempt.reason_code,
  locked_attempt.queued_at_ms, locked_attempt.created_at_ms AS attempt_created_at_ms, locked_attempt.started_at_ms,
  locked_attempt.finished_at_ms, ${leaseColumns('locked_lease')}`;

// Each lock needs the row of the one before it, so the order run, attempt, lease does not depend on the plan. A row
// that another transaction changed while this one waited is read as it is after that change.
const LOCKED_ATTEMPT_AND_LEASE = `
  locked_attempt AS MATERIALIZED (
    SELECT * FROM attempts
     WHERE attempt_id = $2 AND run_id = (SELECT run_id FROM locked_run)
       FOR UPDATE),
  locked_lease AS MATERIALIZED (
    SELECT * FROM leases WHERE attempt_id = (SELECT attempt_id FROM locked_attempt) FOR UPDATE)
  SELECT ${EXECUTION} FROM locked_run, locked_attempt, locked_lease`;

/** Statements that read or move an attempt together with its run and its lease. */
@Injectable()
export class ExecutionRepository {
  /** Locks run, attempt and lease, waiting for whoever has them; null when there is no such attempt of the run. */
  async lock(tx: Tx, runId: string, attemptId: string): Promise<Execution | null> {
    const rows = await tx.query<ExecutionRow>(
      `WITH locked_run AS MATERIALIZED (SELECT * FROM runs WHERE run_id = $1 FOR UPDATE),
       ${LOCKED_ATTEMPT_AND_LEASE}`,
      [runId, attemptId],
    );
    return rows[0] ? executionOf(rows[0]) : null;
  }

  /** The run of an attempt; it never changes. */
  async findRunId(tx: Tx, attemptId: string): Promise<string | null> {
    const rows = await tx.query<{ run_id: string }>('SELECT run_id FROM attempts WHERE attempt_id = $1', [
      attemptId,
    ]);
    return rows[0]?.run_id ?? null;
  }

  /** Locks a run, so that the attempts it has now are the ones it keeps. */
  async lockRun(tx: Tx, projectId: string, runId: string): Promise<boolean> {
    const rows = await tx.query('SELECT run_id FROM runs WHERE run_id = $1 AND project_id = $2 FOR UPDATE', [
      runId,
      projectId,
    ]);
    return rows.length > 0;
  }

  /** The same, but false when somebody else has the run. */
  async tryLockRun(tx: Tx, projectId: string, runId: string): Promise<boolean> {
    const rows = await tx.query(
      'SELECT run_id FROM runs WHERE run_id = $1 AND project_id = $2 FOR UPDATE SKIP LOCKED',
      [runId, projectId],
    );
    return rows.length > 0;
  }

  /**
   * Locks a run like `lockRun`, after `waitMs` at most: behind whoever waits already, so that no number of callers
   * keeps this one off. @throws DatabaseFault 55P03 when it does not come to its turn
   */
  async awaitRun(tx: Tx, projectId: string, runId: string, waitMs: number): Promise<boolean> {
    await tx.query(`SELECT set_config('lock_timeout', $1, true)`, [`${waitMs}ms`]);
    return this.lockRun(tx, projectId, runId);
  }

  /** Reads the clock, and whether the run's plan asks for secrets at all. */
  async readExpiryFacts(tx: Tx, runId: string): Promise<{ nowMs: number; hasReferences: boolean }> {
    const [row] = await tx.query<{ now_ms: number; has_references: boolean }>(
      `SELECT clock_ms() AS now_ms,
              cardinality(plan.secret_refs) + cardinality(plan.environment_bundle_refs) > 0 AS has_references
         FROM runs JOIN task_execution_revisions plan ON plan.project_id = runs.project_id
          AND plan.task_id = runs.task_id AND plan.revision = runs.revision
        WHERE runs.run_id = $1`,
      [runId],
    );
    if (!row) throw new Error('a run has its plan');
    return { nowMs: row.now_ms, hasReferences: row.has_references };
  }

  /** Locks the newest attempt of a run that is locked already, and the attempt's lease. */
  async lockNewest(tx: Tx, runId: string): Promise<Execution | null> {
    const rows = await tx.query<ExecutionRow>(
      `WITH locked_run AS MATERIALIZED (
         SELECT * FROM runs WHERE run_id = $1 FOR UPDATE),
       locked_attempt AS MATERIALIZED (
         SELECT * FROM attempts
          WHERE run_id = (SELECT run_id FROM locked_run)
            AND attempt_number = (SELECT newest_attempt_number FROM locked_run)
            FOR UPDATE),
       locked_lease AS MATERIALIZED (
         SELECT * FROM leases WHERE attempt_id = (SELECT attempt_id FROM locked_attempt) FOR UPDATE)
       SELECT ${EXECUTION} FROM locked_run, locked_attempt, locked_lease`,
      [runId],
    );
    return rows[0] ? executionOf(rows[0]) : null;
  }
}

function executionOf(row: ExecutionRow): Execution {
  return {
    run: runOf(row),
    attempt: {
      attemptId: row.attempt_id,
      attemptNumber: row.attempt_number,
      status: row.attempt_status,
      claims: row.claims,
      decidedBy: row.decided_by,
      executorHandle: row.executor_handle,
      logArtifactId: row.log_artifact_id,
      callbackSequence: row.callback_sequence,
      callbackTokenDigest: row.callback_token_digest,
      reasonCode: row.reason_code,
      queuedAtMs: row.queued_at_ms,
      createdAtMs: row.attempt_created_at_ms,
      startedAtMs: row.started_at_ms,
      finishedAtMs: row.finished_at_ms,
    },
    lease: leaseOf(row),
  };
}
