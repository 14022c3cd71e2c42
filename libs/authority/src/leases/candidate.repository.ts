import { Injectable } from '@nestjs/common';
import type { Tx } from '../database/tx.js';
import { EVERY_PROJECT } from '../workers/worker.js';

/** An execution revision that something in the queue has. */
export interface QueuedRevision {
  readonly projectId: string;
  readonly executionDigest: string;
}

/** A queued attempt as a worker that asks for work sees it; nothing is locked. */
export interface Candidate extends QueuedRevision {
  readonly runId: string;
  readonly attemptId: string;
  readonly priority: number;
  readonly queuedAtMs: number;
}

/** The plan of a claimed run. */
export interface Plan {
  readonly planJson: string;
  readonly contentDigest: string;
  readonly createdAtMs: number;
}

interface CandidateRow {
  project_id: string;
  execution_digest: string;
  run_id: string;
  attempt_id: string;
  priority: number;
  queued_at_ms: number;
}

const QUEUE = 'project_id, execution_digest, run_id, attempt_id, priority, queued_at_ms';
// The same order in three forms, each with its index.
const ORDER = '(-priority), queued_at_ms, attempt_id';
const PROJECT_ORDER = '(1000 - priority), queued_at_ms, attempt_id';
const REVISION_ORDER = '(2000 - priority), queued_at_ms, attempt_id';
const PLAN = `JOIN runs USING (run_id)
  JOIN task_execution_revisions plan ON plan.project_id = runs.project_id AND plan.task_id = runs.task_id
   AND plan.revision = runs.revision`;

/** The queue: larger priority first, then the attempt that has waited longer. */
@Injectable()
export class CandidateRepository {
  /** The first `limit` queued attempts of the projects. */
  async listHead(tx: Tx, projects: readonly string[], limit: number): Promise<Candidate[]> {
    const every = projects.includes(EVERY_PROJECT);
    const rows = await tx.query<CandidateRow>(
      every
        ? `SELECT ${QUEUE} FROM attempts WHERE status = 'queued' ORDER BY ${ORDER} LIMIT $1`
        : `SELECT queued.* FROM unnest($2::text[]) AS allowed (project_id)
            CROSS JOIN LATERAL (
              SELECT ${QUEUE} FROM attempts WHERE status = 'queued' AND project_id = allowed.project_id
               ORDER BY ${PROJECT_ORDER} LIMIT $1) AS queued
            ORDER BY ${ORDER} LIMIT $1`,
      every ? [limit] : [limit, projects],
    );
    return rows.map(candidateOf);
  }

  /** Every revision of the projects that something in the queue has, from each to the next by index. */
  async listRevisions(tx: Tx, projects: readonly string[]): Promise<QueuedRevision[]> {
    const every = projects.includes(EVERY_PROJECT);
    const next = (after: string) => `
      SELECT project_id, execution_digest FROM attempts WHERE status = 'queued' AND ${after}
       ORDER BY project_id, execution_digest LIMIT 1`;
    const rows = await tx.query<CandidateRow>(
      every
        ? `WITH RECURSIVE revision AS (
             (${next('true')})
             UNION ALL
             SELECT following.* FROM revision CROSS JOIN LATERAL (
               ${next('(project_id, execution_digest) > (revision.project_id, revision.execution_digest)')}
             ) AS following)
           SELECT * FROM revision`
        : `SELECT found.* FROM unnest($1::text[]) AS allowed (project_id) CROSS JOIN LATERAL (
             WITH RECURSIVE revision AS (
               (${next('project_id = allowed.project_id')})
               UNION ALL
               SELECT following.* FROM revision CROSS JOIN LATERAL (
                 ${next('project_id = allowed.project_id AND execution_digest > revision.execution_digest')}
               ) AS following)
             SELECT * FROM revision) AS found`,
      every ? [] : [projects],
    );
    return rows.map((row) => ({ projectId: row.project_id, executionDigest: row.execution_digest }));
  }

  /** The first `limit` queued attempts that have one of the revisions. */
  async listOf(tx: Tx, revisions: readonly QueuedRevision[], limit: number): Promise<Candidate[]> {
    const rows = await tx.query<CandidateRow>(
      `SELECT queued.* FROM unnest($1::text[], $2::text[]) AS wanted (project_id, execution_digest)
        CROSS JOIN LATERAL (
          SELECT ${QUEUE} FROM attempts
           WHERE status = 'queued' AND project_id = wanted.project_id
             AND execution_digest = wanted.execution_digest
           ORDER BY ${REVISION_ORDER} LIMIT $3) AS queued
        ORDER BY ${ORDER} LIMIT $3`,
      [...columnsOf(revisions), limit],
    );
    return rows.map(candidateOf);
  }

  /** The placement of each revision that still is in the queue; null where an old plan has none. */
  async readPlacements(
    tx: Tx,
    revisions: readonly QueuedRevision[],
  ): Promise<{ executionDigest: string; placementJson: string | null }[]> {
    const rows = await tx.query<{ execution_digest: string; placement_json: string | null }>(
      `SELECT wanted.execution_digest, plan.placement_json
         FROM unnest($1::text[], $2::text[]) AS wanted (project_id, execution_digest)
        CROSS JOIN LATERAL (
          SELECT run_id FROM attempts
           WHERE status = 'queued' AND attempts.project_id = wanted.project_id
             AND attempts.execution_digest = wanted.execution_digest
           ORDER BY ${REVISION_ORDER} LIMIT 1) AS queued ${PLAN}`,
      columnsOf(revisions),
    );
    return rows.map((row) => ({ executionDigest: row.execution_digest, placementJson: row.placement_json }));
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

function columnsOf(revisions: readonly QueuedRevision[]): [string[], string[]] {
  return [
    revisions.map(({ projectId }) => projectId),
    revisions.map(({ executionDigest }) => executionDigest),
  ];
}

function candidateOf(row: CandidateRow): Candidate {
  return {
    projectId: row.project_id,
    executionDigest: row.execution_digest,
    runId: row.run_id,
    attemptId: row.attempt_id,
    priority: row.priority,
    queuedAtMs: row.queued_at_ms,
  };
}
