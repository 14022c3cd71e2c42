import { Injectable } from '@nestjs/common';
import type { Tx } from '../database/transaction-runner.js';
import { EVERY_PROJECT } from '../workers/worker.js';

/** A queued attempt as a worker that asks for work sees it; nothing is locked. */
export interface Candidate {
  readonly runId: string;
  readonly attemptId: string;
  readonly priority: number;
  readonly queuedAtMs: number;
  readonly executionDigest: string;
  /** The plan's placement, or null where an old plan has none. */
  readonly placementJson: string | null;
}

/** The plan of a claimed run. */
export interface Plan {
  readonly planJson: string;
  readonly contentDigest: string;
  readonly createdAtMs: number;
}

interface CandidateRow {
  run_id: string;
  attempt_id: string;
  priority: number;
  queued_at_ms: number;
  content_digest: string;
  placement_json: string | null;
}

const QUEUE = 'run_id, attempt_id, priority, queued_at_ms';
// The same order in two forms, each with its index.
const ORDER = '(-priority), queued_at_ms, attempt_id';
const PROJECT_ORDER = '(1000 - priority), queued_at_ms, attempt_id';
const BEFORE_ALL = [-1_000_000, 0, ''] as const;
const PLAN = `JOIN runs USING (run_id)
  JOIN task_execution_revisions plan ON plan.project_id = runs.project_id AND plan.task_id = runs.task_id
   AND plan.revision = runs.revision`;

/** The queue: larger priority first, then the attempt that has waited longer. */
@Injectable()
export class CandidateRepository {
  /** The next `limit` queued attempts of the projects after `last`. */
  async list(
    tx: Tx,
    projects: readonly string[],
    last: Candidate | null,
    limit: number,
  ): Promise<Candidate[]> {
    const every = projects.includes(EVERY_PROJECT);
    const position = last
      ? [(every ? 0 : 1000) - last.priority, last.queuedAtMs, last.attemptId]
      : BEFORE_ALL;
    const queue = every
      ? `SELECT ${QUEUE} FROM attempts WHERE status = 'queued' AND (${ORDER}) > ($1, $2, $3)
          ORDER BY ${ORDER} LIMIT $4`
      : `SELECT queued.* FROM unnest($5::text[]) AS allowed (project_id)
          CROSS JOIN LATERAL (
            SELECT ${QUEUE} FROM attempts
             WHERE status = 'queued' AND project_id = allowed.project_id AND (${PROJECT_ORDER}) > ($1, $2, $3)
             ORDER BY ${PROJECT_ORDER} LIMIT $4) AS queued
          ORDER BY ${ORDER} LIMIT $4`;
    const rows = await tx.query<CandidateRow>(
      `WITH queued AS MATERIALIZED (${queue})
       SELECT queued.*, plan.content_digest, plan.placement_json FROM queued ${PLAN}
        ORDER BY (-queued.priority), queued.queued_at_ms, queued.attempt_id`,
      every ? [...position, limit] : [...position, limit, projects],
    );
    return rows.map((row) => ({
      runId: row.run_id,
      attemptId: row.attempt_id,
      priority: row.priority,
      queuedAtMs: row.queued_at_ms,
      executionDigest: row.content_digest,
      placementJson: row.placement_json,
    }));
  }

  /** Locks the first of the runs that is still queued and that nobody else is claiming. */
  async lockFirst(tx: Tx, runIds: readonly string[]): Promise<string | null> {
    const rows = await tx.query<{ run_id: string }>(
      `SELECT run_id FROM runs
        WHERE run_id = ANY ($1::text[]) AND status = 'queued' AND cancel_requested_at_ms IS NULL
        ORDER BY array_position($1::text[], run_id) LIMIT 1 FOR UPDATE SKIP LOCKED`,
      [runIds],
    );
    return rows[0]?.run_id ?? null;
  }

  async findPlan(tx: Tx, runId: string): Promise<Plan | null> {
    const rows = await tx.query<{ plan_json: string; content_digest: string; created_at_ms: number }>(
      `SELECT plan.plan_json, plan.content_digest, plan.created_at_ms
         FROM (VALUES ($1::text)) AS asked (run_id) ${PLAN}`,
      [runId],
    );
    const [row] = rows;
    return row
      ? { planJson: row.plan_json, contentDigest: row.content_digest, createdAtMs: row.created_at_ms }
      : null;
  }
}
