import type { TestDatabase } from '../support/postgres.js';

/** Where a history plays. */
export type Database = Pick<TestDatabase, 'url' | 'query'>;

/** A lease row, as `to_jsonb` writes it. */
export interface LeaseRow {
  readonly attempt_id: string;
  readonly state: 'leased' | 'released' | 'completed';
  readonly generation: number;
  readonly version: number;
  readonly worker_id: string | null;
  readonly session_id: string | null;
  readonly worker_generation: number | null;
  readonly offer_id: string | null;
  readonly token_digest: string | null;
  readonly renewed_at_ms: number;
  readonly expires_at_ms: number;
  readonly authorisations: number;
  readonly custody_failures: number;
  readonly open_record_id: string | null;
  readonly open_since_ms: number | null;
}

export interface AttemptRow {
  readonly attempt_id: string;
  readonly run_id: string;
  readonly attempt_number: number;
  readonly project_id: string;
  readonly status: string;
  readonly claims: number;
  readonly decided_by: string | null;
  readonly callback_token_digest: string | null;
}

export interface RunRow {
  readonly run_id: string;
  readonly status: string;
  readonly newest_attempt_number: number;
  readonly cancel_requested_at_ms: number | null;
  readonly stop_requested_at_ms: number | null;
  readonly deadline_at_ms: number | null;
}

export interface SessionRow {
  readonly worker_id: string;
  readonly session_id: string | null;
  readonly generation: number;
  readonly version: number;
  readonly status: string;
}

export interface WorkerRow {
  readonly worker_id: string;
  readonly status: string;
  readonly projects: readonly string[];
}

export interface ClaimRow {
  readonly offer_id: string;
  readonly attempt_id: string;
  readonly lease_generation: number;
  readonly worker_id: string;
}

export interface RecordRow {
  readonly record_id: string;
  readonly decided_at_ms: number;
  readonly decision: 'authorised' | 'denied';
  readonly denial: string | null;
  readonly worker_id: string;
  readonly attempt_id: string | null;
  readonly lease_generation: number | null;
  readonly request_digest: string;
}

export interface OutcomeRow {
  readonly record_id: string;
  readonly outcome: string;
}

export interface LateReportRow {
  readonly attempt_id: string;
  readonly lease_generation: number;
  readonly kind: 'start_failure' | 'completion';
}

/** What operators and the sweeper write last in a transaction. */
export interface AuditRow {
  readonly action: string;
  readonly subject_id: string;
}

/** The tables whose every change is in the trail. */
export interface Rows {
  readonly leases: LeaseRow;
  readonly attempts: AttemptRow;
  readonly runs: RunRow;
  readonly worker_sessions: SessionRow;
  readonly workers: WorkerRow;
  readonly lease_claims: ClaimRow;
  readonly delivery_records: RecordRow;
  readonly delivery_outcomes: OutcomeRow;
  readonly late_reports: LateReportRow;
  readonly audit_events: AuditRow;
}

/**
 * One committed change of one row. `position` is drawn while the row's lock is held, so for two transactions that both
 * lock a row, and for all that either does under that lock, it is the order of their commits.
 */
export interface Move<Table extends keyof Rows = keyof Rows> {
  readonly position: number;
  readonly transaction: string;
  /** Who was logged in; the passing of time is played by the administrator. */
  readonly role: 'valise_ingress' | 'valise_operator' | 'valise_sweeper' | 'time';
  readonly table: Table;
  readonly before: Rows[Table] | null;
  readonly after: Rows[Table];
}

export type AnyMove = { [Table in keyof Rows]: Move<Table> }[keyof Rows];

export type CallKind =
  | 'register'
  | 'heartbeat'
  | 'transition'
  | 'claim'
  | 'renew'
  | 'starting'
  | 'running'
  | 'start_failure'
  | 'completion'
  | 'deliver'
  | 'settle'
  | 'put_worker'
  | 'start_run'
  | 'cancel_run'
  | 'retry_run'
  | 'sweep';

/** What a worker shows with a call about an attempt. */
export interface ShownFence {
  readonly attemptId: string;
  readonly sessionId: string;
  readonly workerGeneration: number;
  readonly offerId: string;
  readonly leaseGeneration: number;
  readonly tokenDigest: string;
  readonly version: number;
}

/** One call of a service: what was asked, what was answered, and when, on this process's clock. */
export interface Call {
  readonly kind: CallKind;
  readonly workerId: string | null;
  readonly fence: ShownFence | null;
  /** Of a delivery: the digest that its record has. Of a claim: the offer. */
  readonly requestId: string | null;
  readonly invokedMs: number;
  readonly answeredMs: number;
  /**
   * The answer's status, or the code of the refusal; `unknown` where the refusal says that nobody knows, `fault` for
   * anything else, which never may be.
   */
  readonly answer: string;
  /** Where the answer names them: the attempt it is about, its lease as answered, the delivery's record. */
  readonly attemptId: string | null;
  readonly leaseGeneration: number | null;
  readonly leaseVersion: number | null;
  readonly recordId: string | null;
}

/** Everything that can be known of a time of hostile work. */
export interface History {
  readonly calls: readonly Call[];
  readonly moves: readonly AnyMove[];
  /** The rows as they are once time has passed and the sweeper has nothing left to do. */
  readonly final: {
    readonly leases: readonly LeaseRow[];
    readonly attempts: readonly AttemptRow[];
    readonly runs: readonly RunRow[];
  };
  /** The attempts that a fresh worker then could claim. */
  readonly claimable: readonly string[];
}
