import { Injectable } from '@nestjs/common';
import type { Position } from '../database/position.js';
import type { Tx } from '../database/tx.js';

export interface ExpiredLease {
  readonly projectId: string;
  readonly runId: string;
  readonly attemptId: string;
  readonly expiresAtMs: number;
}

/** The lease rows. Every statement that moves a fence raises the row's version. */
@Injectable()
export class LeaseRepository {
  /** How many leases the session holds. */
  async countOfSession(tx: Tx, workerId: string, sessionId: string): Promise<number> {
    const rows = await tx.query<{ leases: number }>(
      `SELECT count(*) AS leases FROM leases WHERE worker_id = $1 AND session_id = $2 AND state = 'leased'`,
      [workerId, sessionId],
    );
    return rows[0]?.leases ?? 0;
  }

  /** A session was replaced: what it holds has expired as of now. */
  async expireOfSession(tx: Tx, workerId: string, sessionId: string): Promise<number> {
    const rows = await tx.query(
      `WITH held AS MATERIALIZED (
         SELECT attempt_id FROM leases WHERE worker_id = $1 AND session_id = $2 AND state = 'leased'
          ORDER BY attempt_id FOR UPDATE)
       ${EXPIRE_HELD}`,
      [workerId, sessionId],
    );
    return rows.length;
  }

  /** The worker was revoked or lost projects: what it holds outside `keptProjects` has expired as of now. */
  async expireOfWorker(tx: Tx, workerId: string, keptProjects: readonly string[]): Promise<number> {
    const rows = await tx.query(
      `WITH held AS MATERIALIZED (
         SELECT leases.attempt_id FROM leases JOIN attempts USING (attempt_id)
          WHERE leases.worker_id = $1 AND leases.state = 'leased' AND attempts.project_id <> ALL ($2::text[])
          ORDER BY leases.attempt_id FOR UPDATE OF leases)
       ${EXPIRE_HELD}`,
      [workerId, keptProjects],
    );
    return rows.length;
  }

  /** A sign of life of the holder, or a stop or cancellation it has not heard of: the lease lives on. */
  async renew(tx: Tx, attemptId: string): Promise<{ version: number; expiresAtMs: number }> {
    const [row] = await tx.query<{ version: number; expires_at_ms: number }>(
      `UPDATE leases SET version = version + 1, renewed_at_ms = now_ms, updated_at_ms = now_ms,
              expires_at_ms = now_ms + duration_ms
         FROM clock_ms() AS now_ms
        WHERE attempt_id = $1 AND state = 'leased' RETURNING version, expires_at_ms`,
      [attemptId],
    );
    if (!row) throw new Error('the lease row is locked and leased');
    return { version: row.version, expiresAtMs: row.expires_at_ms };
  }

  /** A cancellation or a stop was requested: whoever read the lease before does not act on it. */
  async fence(tx: Tx, attemptId: string): Promise<void> {
    await tx.query(
      `UPDATE leases SET version = version + 1, updated_at_ms = clock_ms() WHERE attempt_id = $1`,
      [attemptId],
    );
  }

  /** Up to `limit` attempts whose lease has expired, oldest first from `after` on and round; nothing is locked. */
  async listExpired(tx: Tx, after: Position, limit: number): Promise<ExpiredLease[]> {
    const rows = await tx.query<{
      project_id: string;
      run_id: string;
      attempt_id: string;
      expires_at_ms: number;
    }>(
      `SELECT project_id, run_id, attempt_id, expires_at_ms FROM leases JOIN attempts USING (attempt_id)
        WHERE state = 'leased' AND expires_at_ms <= clock_ms()
        ORDER BY (expires_at_ms, attempt_id) <= ($1, $2), expires_at_ms, attempt_id LIMIT $3`,
      [after.atMs, after.id, limit],
    );
    return rows.map((row) => ({
      projectId: row.project_id,
      runId: row.run_id,
      attemptId: row.attempt_id,
      expiresAtMs: row.expires_at_ms,
    }));
  }
}

const EXPIRE_HELD = `UPDATE leases SET version = version + 1, updated_at_ms = clock_ms(),
    expires_at_ms = LEAST(expires_at_ms, clock_ms())
  WHERE attempt_id IN (SELECT attempt_id FROM held) RETURNING attempt_id`;
