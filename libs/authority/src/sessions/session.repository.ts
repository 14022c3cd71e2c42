import { Injectable } from '@nestjs/common';
import type { SessionHeartbeatRequest, SessionRegisterRequest, SessionStatus } from '@valise/contracts/wire';
import type { Tx } from '../database/tx.js';
import type { Session, WorkerSessionKey } from './session.js';

interface SessionRow {
  worker_id: string;
  session_id: string | null;
  generation: number;
  version: number;
  status: SessionStatus;
  expires_at_ms: number;
  capabilities_json: string | null;
  capabilities_hash: string | null;
  max_concurrent_runs: number;
  available_slots: number;
  leases_at_report: number;
  lease_duration_ms: number;
}

const SESSION = `worker_id, session_id, generation, version, status, expires_at_ms, capabilities_json,
  capabilities_hash, max_concurrent_runs, available_slots, leases_at_report, lease_duration_ms`;

const LEASES_NOW = `(SELECT count(*) FROM leases
  WHERE leases.worker_id = worker_sessions.worker_id AND leases.session_id = $2 AND leases.state = 'leased')`;

/** One row per worker: its current session. */
@Injectable()
export class SessionRepository {
  /** Locks the worker's session; null for a worker that no operator ever put. */
  async lock(tx: Tx, workerId: string): Promise<Session | null> {
    const rows = await tx.query<SessionRow>(
      `SELECT ${SESSION} FROM worker_sessions WHERE worker_id = $1 FOR UPDATE`,
      [workerId],
    );
    return rows[0] ? sessionOf(rows[0]) : null;
  }

  async readClock(tx: Tx): Promise<number> {
    const [row] = await tx.query<{ now_ms: number }>('SELECT clock_ms() AS now_ms');
    if (!row) throw new Error('a statement without a condition returns a row');
    return row.now_ms;
  }

  /** The row of a worker that never registered. */
  async create(tx: Tx, workerId: string): Promise<void> {
    await tx.query('INSERT INTO worker_sessions (worker_id, updated_at_ms) VALUES ($1, clock_ms())', [
      workerId,
    ]);
  }

  /** The next generation begins, at version 0. */
  begin(tx: Tx, key: WorkerSessionKey, request: SessionRegisterRequest): Promise<Session> {
    return this.update(
      tx,
      `session_id = $2, generation = generation + 1, version = 0, status = 'online',
       expires_at_ms = clock_ms() + $3, lease_duration_ms = $3, available_slots = $4, leases_at_report = 0,
       max_concurrent_runs = $5, capabilities_json = $6, capabilities_hash = $7, registered_at_ms = clock_ms()`,
      [
        ...reported(key, request),
        request.maxConcurrentRuns,
        request.capabilitiesJson,
        request.capabilitiesHash,
      ],
    );
  }

  /** The same session is online again. */
  resume(tx: Tx, key: WorkerSessionKey, request: SessionRegisterRequest): Promise<Session> {
    return this.update(
      tx,
      `version = version + 1, status = 'online', expires_at_ms = clock_ms() + $3, lease_duration_ms = $3,
       available_slots = $4, leases_at_report = ${LEASES_NOW}, max_concurrent_runs = $5`,
      [...reported(key, request), request.maxConcurrentRuns],
    );
  }

  extend(tx: Tx, key: WorkerSessionKey, request: SessionHeartbeatRequest): Promise<Session> {
    return this.update(
      tx,
      `version = version + 1, expires_at_ms = clock_ms() + $3, lease_duration_ms = $3, available_slots = $4,
       leases_at_report = ${LEASES_NOW}`,
      reported(key, request),
    );
  }

  move(tx: Tx, key: WorkerSessionKey, status: 'draining' | 'offline'): Promise<Session> {
    return this.update(tx, 'version = version + 1, status = $3', [key.workerId, key.sessionId, status]);
  }

  /** Ends the session of a worker that was revoked; nothing happens to one that has ended. */
  async end(tx: Tx, workerId: string): Promise<void> {
    await tx.query(
      `UPDATE worker_sessions SET status = 'offline', version = version + 1, updated_at_ms = clock_ms()
        WHERE worker_id = $1 AND status <> 'offline'`,
      [workerId],
    );
  }

  /** Ends up to `limit` sessions that gave no sign of life in time; returns how many. */
  async endExpired(tx: Tx, limit: number): Promise<number> {
    const rows = await tx.query(
      `WITH expired AS MATERIALIZED (
         SELECT worker_id FROM worker_sessions
          WHERE status <> 'offline' AND expires_at_ms <= clock_ms()
          ORDER BY expires_at_ms LIMIT $1 FOR UPDATE SKIP LOCKED)
       UPDATE worker_sessions SET status = 'offline', version = version + 1, updated_at_ms = clock_ms()
        WHERE worker_id IN (SELECT worker_id FROM expired) RETURNING worker_id`,
      [limit],
    );
    return rows.length;
  }

  private async update(
    tx: Tx,
    assignments: string,
    parameters: readonly (string | number)[],
  ): Promise<Session> {
    const [row] = await tx.query<SessionRow>(
      `UPDATE worker_sessions SET ${assignments}, updated_at_ms = clock_ms()
        WHERE worker_id = $1 AND $2::text IS NOT NULL RETURNING ${SESSION}`,
      parameters,
    );
    if (!row) throw new Error('the session row is locked and there');
    return sessionOf(row);
  }
}

function reported(
  key: WorkerSessionKey,
  request: { readonly leaseDurationMs: number; readonly availableSlots: number },
): (string | number)[] {
  return [key.workerId, key.sessionId, request.leaseDurationMs, request.availableSlots];
}

function sessionOf(row: SessionRow): Session {
  return {
    workerId: row.worker_id,
    sessionId: row.session_id,
    generation: row.generation,
    version: row.version,
    status: row.status,
    expiresAtMs: row.expires_at_ms,
    capabilitiesJson: row.capabilities_json,
    capabilitiesHash: row.capabilities_hash,
    maxConcurrentRuns: row.max_concurrent_runs,
    availableSlots: row.available_slots,
    leasesAtReport: row.leases_at_report,
    leaseDurationMs: row.lease_duration_ms,
  };
}
