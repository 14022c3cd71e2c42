import { Injectable } from '@nestjs/common';
import type { AttemptStatus, WorkerStatus } from '@valise/contracts/wire';
import type { Lease } from '../attempts/execution.js';
import {
  leaseColumns,
  leaseOf,
  runColumns,
  runOf,
  type LeaseRow,
  type RunRow,
} from '../attempts/execution.row.js';
import type { PreparedStatement, Tx } from '../database/tx.js';
import type { DeliveryFacts, DeliveryLimits, Denial } from './delivery.js';

/** The content-free part that authorised and denied records share. */
export interface DeliveryRecord {
  readonly recordId: string;
  readonly workerId: string;
  readonly sessionId: string | null;
  readonly runId: string | null;
  readonly attemptId: string | null;
  readonly leaseGeneration: number | null;
  readonly secretCount: number;
  readonly bundleCount: number;
  readonly certificateSerial: string;
  readonly requestDigest: string;
}

interface CallerRow {
  now_ms: number;
  worker_status: WorkerStatus | null;
  projects: string[] | null;
  current_session_id: string | null;
  session_generation: number | null;
  session_expires_at_ms: number | null;
}

/** All of it null when there is no such attempt. */
type TargetRow = RunRow &
  LeaseRow & {
    attempt_id: string | null;
    attempt_number: number;
    attempt_status: AttemptStatus;
    content_digest: string;
    secret_refs: string[];
    environment_bundle_refs: string[];
  };

const RECORD_COLUMNS = `record_id, decided_at_ms, decision, denial, worker_id, session_id, run_id, attempt_id,
  lease_generation, secret_count, bundle_count, certificate_serial, request_digest`;

const FACTS: PreparedStatement = {
  name: 'delivery_facts',
  text: `SELECT clock_ms() AS now_ms, workers.status AS worker_status, workers.projects,
        sessions.session_id AS current_session_id, sessions.generation AS session_generation,
        sessions.expires_at_ms AS session_expires_at_ms,
        attempts.attempt_id, attempts.attempt_number, attempts.status AS attempt_status,
        ${runColumns('runs')}, ${leaseColumns('leases')},
        plan.content_digest, plan.secret_refs, plan.environment_bundle_refs
   FROM (VALUES ($1::text, $2::text)) AS asked (worker_id, attempt_id)
   LEFT JOIN workers ON workers.worker_id = asked.worker_id
   LEFT JOIN worker_sessions sessions ON sessions.worker_id = asked.worker_id
   LEFT JOIN (attempts
        JOIN leases ON leases.attempt_id = attempts.attempt_id
        JOIN runs ON runs.run_id = attempts.run_id
        JOIN task_execution_revisions plan ON plan.project_id = runs.project_id
         AND plan.task_id = runs.task_id AND plan.revision = runs.revision)
     ON attempts.attempt_id = asked.attempt_id`,
};

const AUTHORISE: PreparedStatement = {
  name: 'delivery_authorise',
  text: `WITH locked AS MATERIALIZED (SELECT * FROM leases WHERE attempt_id = $1 FOR UPDATE),
     observed AS MATERIALIZED (SELECT locked.*, clock_ms() AS now_ms FROM locked),
     unmoved AS MATERIALIZED (
       SELECT attempt_id, now_ms FROM observed
        WHERE state = 'leased' AND version = $3 AND generation = $4 AND token_digest = $5
          AND custody_failures < $16
          AND expires_at_ms > now_ms AND authorisations = $6 AND authorisations < $7
          AND open_since_ms IS NOT DISTINCT FROM $8),
     authorised AS (
       UPDATE leases
          SET authorisations = leases.authorisations + 1, open_record_id = $2, open_since_ms = unmoved.now_ms
         FROM unmoved WHERE leases.attempt_id = unmoved.attempt_id
       RETURNING leases.attempt_id, leases.expires_at_ms, unmoved.now_ms AS decided_at_ms),
     recorded AS (
       INSERT INTO delivery_records (${RECORD_COLUMNS})
       SELECT $2, decided_at_ms, 'authorised', NULL, $9, $10, $11, attempt_id, $4, $12, $13, $14, $15
         FROM authorised)
     SELECT decided_at_ms, expires_at_ms FROM authorised`,
};

const SETTLE: PreparedStatement = {
  name: 'delivery_settle',
  text: `WITH settled AS (
       INSERT INTO delivery_outcomes (record_id, decided_at_ms, outcome, outcome_at_ms)
       VALUES ($1, $2, $3, clock_ms()) ON CONFLICT DO NOTHING RETURNING true AS first_word)
     UPDATE leases
        SET open_record_id = NULL, open_since_ms = NULL,
            custody_failures = custody_failures + CASE WHEN $3 = 'custody_failed' THEN 1 ELSE 0 END,
            authorisations = authorisations
              - CASE WHEN $3 = 'custody_failed' AND state = 'leased' THEN 1 ELSE 0 END
       FROM settled WHERE attempt_id = $4 AND open_record_id = $1`,
};

/** The two statements of a delivery's transaction, and the one that says what became of it. */
@Injectable()
export class DeliveryRepository {
  /** Reads everything a delivery is decided by. Nothing is locked. */
  async readFacts(tx: Tx, workerId: string, attemptId: string): Promise<DeliveryFacts> {
    const [row] = await tx.query<CallerRow & TargetRow>(FACTS, [workerId, attemptId]);
    if (!row) throw new Error('a statement without a condition returns a row');
    return factsOf(row);
  }

  /**
   * Counts the authorisation on the lease, records it and commits both, if the lease still is as it was read and has
   * not expired once its row is held. Null when it moved. The conditions stand on the locked row, not in the UPDATE:
   * there the planner could walk the index of all held leases, and every delivery would conflict with every other.
   */
  async authorise(
    tx: Tx,
    record: DeliveryRecord & { readonly attemptId: string },
    read: Lease,
    limits: Pick<DeliveryLimits, 'maxAuthorisations' | 'maxCustodyFailures'>,
  ): Promise<{ decidedAtMs: number; expiresAtMs: number } | null> {
    const [row] = await tx.queryAndCommit<{ decided_at_ms: number; expires_at_ms: number }>(AUTHORISE, [
      record.attemptId,
      record.recordId,
      read.version,
      read.generation,
      read.tokenDigest,
      read.authorisations,
      limits.maxAuthorisations,
      read.openSinceMs,
      record.workerId,
      record.sessionId,
      record.runId,
      record.secretCount,
      record.bundleCount,
      record.certificateSerial,
      record.requestDigest,
      limits.maxCustodyFailures,
    ]);
    return row ? { decidedAtMs: row.decided_at_ms, expiresAtMs: row.expires_at_ms } : null;
  }

  /**
   * Counts a denial in the worker's minute, and records it unless the minute has had `perMinute` of them.
   * @returns how many the minute has had with this one, and in how many milliseconds it ends
   */
  async deny(
    tx: Tx,
    record: DeliveryRecord,
    denial: Denial,
    windowId: string,
    perMinute: number,
  ): Promise<{ denials: number; endsInMs: number }> {
    const [row] = await tx.query<{ denials: number; ends_in_ms: number }>(
      `WITH counted AS (
         UPDATE denial_windows
            SET started_at_ms = CASE WHEN started_at_ms <= now_ms - 60000 THEN now_ms ELSE started_at_ms END,
                denials = CASE WHEN started_at_ms <= now_ms - 60000 THEN 1 ELSE denials + 1 END,
                unrecorded = unrecorded
                  + CASE WHEN started_at_ms > now_ms - 60000 AND denials >= $2 THEN 1 ELSE 0 END
           FROM clock_ms() AS now_ms WHERE worker_id = $1
         RETURNING denials, started_at_ms, now_ms),
       recorded AS (
         INSERT INTO delivery_records (${RECORD_COLUMNS})
         SELECT $3, now_ms, 'denied', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13
           FROM counted WHERE denials <= $2)
       SELECT denials, started_at_ms + 60000 - now_ms AS ends_in_ms FROM counted`,
      [
        windowId,
        perMinute,
        record.recordId,
        denial,
        record.workerId,
        record.sessionId,
        record.runId,
        record.attemptId,
        record.leaseGeneration,
        record.secretCount,
        record.bundleCount,
        record.certificateSerial,
        record.requestDigest,
      ],
    );
    if (!row) throw new Error('every worker has its denial window');
    return { denials: row.denials, endsInMs: row.ends_in_ms };
  }

  /**
   * Appends what became of an authorised delivery, once, and closes it on the lease; a custody failure gives the
   * authorisation back where the claim still lives, and is counted: a missing secret does not fill the records.
   */
  async settle(
    tx: Tx,
    record: { readonly recordId: string; readonly decidedAtMs: number; readonly attemptId: string },
    outcome: 'sent' | 'custody_failed' | 'aborted',
  ): Promise<void> {
    await tx.query(SETTLE, [record.recordId, record.decidedAtMs, outcome, record.attemptId]);
  }
}

function factsOf(row: CallerRow & TargetRow): DeliveryFacts {
  return {
    nowMs: row.now_ms,
    worker: row.worker_status && { status: row.worker_status, projects: row.projects ?? [] },
    session:
      row.current_session_id === null
        ? null
        : {
            sessionId: row.current_session_id,
            generation: row.session_generation ?? 0,
            expiresAtMs: row.session_expires_at_ms ?? 0,
          },
    target: row.attempt_id === null ? null : targetOf(row, row.attempt_id),
  };
}

function targetOf(row: TargetRow, attemptId: string): NonNullable<DeliveryFacts['target']> {
  return {
    run: runOf(row),
    attempt: { attemptId, attemptNumber: row.attempt_number, status: row.attempt_status },
    lease: leaseOf(row),
    plan: {
      contentDigest: row.content_digest,
      secretRefs: row.secret_refs,
      environmentBundleRefs: row.environment_bundle_refs,
    },
  };
}
