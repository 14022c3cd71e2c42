import { Injectable } from '@nestjs/common';
import type { ReasonCode } from '@valise/contracts/failure';
import type { AttemptStatus, AttemptView, RunStatus, RunView } from '@valise/contracts/wire';
import type { Position } from '../database/position.js';
import type { Tx } from '../database/tx.js';

/** A run that is to be queued. */
export interface NewRun {
  readonly runId: string;
  readonly attemptId: string;
  readonly projectId: string;
  readonly taskId: string;
  readonly revision: number;
  readonly taskRevision: string;
  readonly priority: number;
}

interface RunViewRow {
  run_id: string;
  project_id: string;
  task_id: string;
  task_revision: string;
  status: RunStatus;
  created_at_ms: number;
  cancel_requested_at_ms: number | null;
}

interface AttemptViewRow {
  attempt_id: string;
  attempt_number: number;
  status: AttemptStatus;
  worker_id: string | null;
  reason_code: ReasonCode | null;
  signal: string | null;
  exit_code: number | null;
  log_artifact_id: string | null;
  created_at_ms: number;
  started_at_ms: number | null;
  finished_at_ms: number | null;
}

// Attempt and lease are made together, so that there is one lease row per attempt from the start.
const WITH_LEASE = `INSERT INTO leases (attempt_id, updated_at_ms) SELECT attempt_id, created_at_ms FROM made`;

const EXECUTION_DIGEST = `(SELECT content_digest FROM task_execution_revisions plan
   WHERE plan.project_id = run.project_id AND plan.task_id = run.task_id AND plan.revision = run.revision)`;

/** Runs as operators make and see them. */
@Injectable()
export class RunRepository {
  /** The run is queued, and so is its attempt 1. */
  async insert(tx: Tx, run: NewRun): Promise<void> {
    await tx.query(
      `WITH run AS (
         INSERT INTO runs (run_id, project_id, task_id, revision, task_revision, priority, status,
                           newest_attempt_number, created_at_ms, updated_at_ms)
         SELECT $1, $3, $4, $5, $6, $7, 'queued', 1, now_ms, now_ms FROM clock_ms() AS now_ms
         RETURNING run_id, project_id, task_id, revision, priority, created_at_ms),
       made AS (
         INSERT INTO attempts (attempt_id, run_id, attempt_number, project_id, priority, status, queued_at_ms,
                               created_at_ms, updated_at_ms, execution_digest)
         SELECT $2, run_id, 1, project_id, priority, 'queued', created_at_ms, created_at_ms, created_at_ms,
                ${EXECUTION_DIGEST} FROM run
         RETURNING attempt_id, created_at_ms)
       ${WITH_LEASE}`,
      [run.runId, run.attemptId, run.projectId, run.taskId, run.revision, run.taskRevision, run.priority],
    );
  }

  /** The locked run is queued again with its next attempt; cancellation, deadline and stop are cleared. */
  async appendAttempt(tx: Tx, runId: string, attemptId: string): Promise<void> {
    await tx.query(
      `WITH run AS (
         UPDATE runs SET status = 'queued', newest_attempt_number = newest_attempt_number + 1,
                cancel_requested_at_ms = NULL, stop_requested_at_ms = NULL, deadline_at_ms = NULL,
                updated_at_ms = clock_ms()
          WHERE run_id = $1
         RETURNING run_id, project_id, task_id, revision, priority, newest_attempt_number, updated_at_ms),
       made AS (
         INSERT INTO attempts (attempt_id, run_id, attempt_number, project_id, priority, status, queued_at_ms,
                               created_at_ms, updated_at_ms, execution_digest)
         SELECT $2, run_id, newest_attempt_number, project_id, priority, 'queued', updated_at_ms, updated_at_ms,
                updated_at_ms, ${EXECUTION_DIGEST} FROM run
         RETURNING attempt_id, created_at_ms)
       ${WITH_LEASE}`,
      [runId, attemptId],
    );
  }

  async requestCancellation(tx: Tx, runId: string): Promise<void> {
    await tx.query(
      'UPDATE runs SET cancel_requested_at_ms = clock_ms(), updated_at_ms = clock_ms() WHERE run_id = $1',
      [runId],
    );
  }

  async requestStop(tx: Tx, runId: string): Promise<void> {
    await tx.query(
      'UPDATE runs SET stop_requested_at_ms = clock_ms(), updated_at_ms = clock_ms() WHERE run_id = $1',
      [runId],
    );
  }

  /**
   * Up to `limit` runs whose deadline passed `graceMs` ago and whose process was not asked to stop yet, oldest first
   * from `after` on and round.
   */
  async listOverdue(
    tx: Tx,
    graceMs: number,
    after: Position,
    limit: number,
  ): Promise<{ projectId: string; runId: string; deadlineAtMs: number }[]> {
    const rows = await tx.query<{ project_id: string; run_id: string; deadline_at_ms: number }>(
      `SELECT project_id, run_id, deadline_at_ms FROM runs
        WHERE deadline_at_ms <= clock_ms() - $1::bigint AND stop_requested_at_ms IS NULL
          AND status IN ('dispatching', 'running')
        ORDER BY (deadline_at_ms, run_id) <= ($2, $3), deadline_at_ms, run_id LIMIT $4`,
      [graceMs, after.atMs, after.id, limit],
    );
    return rows.map((row) => ({
      projectId: row.project_id,
      runId: row.run_id,
      deadlineAtMs: row.deadline_at_ms,
    }));
  }

  async findView(tx: Tx, projectId: string, runId: string): Promise<Omit<RunView, 'attempts'> | null> {
    const [row] = await tx.query<RunViewRow>(
      `SELECT run_id, project_id, task_id, task_revision, status, created_at_ms, cancel_requested_at_ms
         FROM runs WHERE run_id = $1 AND project_id = $2`,
      [runId, projectId],
    );
    if (!row) return null;
    return {
      runId: row.run_id,
      projectId: row.project_id,
      taskId: row.task_id,
      taskRevision: row.task_revision,
      status: row.status,
      createdAtMs: row.created_at_ms,
      ...(row.cancel_requested_at_ms !== null && { cancelRequestedAtMs: row.cancel_requested_at_ms }),
    };
  }

  /** The run's attempts, oldest first. */
  async listAttempts(tx: Tx, runId: string): Promise<AttemptView[]> {
    const rows = await tx.query<AttemptViewRow>(
      `SELECT attempt_id, attempt_number, status, worker_id, reason_code, signal, exit_code, log_artifact_id,
              attempts.created_at_ms, started_at_ms, finished_at_ms
         FROM attempts JOIN leases USING (attempt_id) WHERE run_id = $1 ORDER BY attempt_number`,
      [runId],
    );
    return rows.map((row) => ({
      attemptId: row.attempt_id,
      attemptNumber: row.attempt_number,
      status: row.status,
      ...(row.worker_id !== null && row.status !== 'queued' && { workerId: row.worker_id }),
      ...(row.reason_code !== null && { reasonCode: row.reason_code }),
      ...(row.signal !== null && { signal: row.signal }),
      ...(row.exit_code !== null && { exitCode: row.exit_code }),
      ...(row.log_artifact_id !== null && { logArtifactId: row.log_artifact_id }),
      createdAtMs: row.created_at_ms,
      ...(row.started_at_ms !== null && { startedAtMs: row.started_at_ms }),
      ...(row.finished_at_ms !== null && { finishedAtMs: row.finished_at_ms }),
    }));
  }
}
