import type { MigrationInterface, QueryRunner } from 'typeorm';

type Privilege = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';
/** Table → privileges; a list of columns limits the privilege to them, `true` is the whole table. */
type Grants = Readonly<Record<string, Partial<Readonly<Record<Privilege, string | true>>>>>;

const SESSION_REPORT = `session_id, generation, version, status, expires_at_ms, capabilities_json, capabilities_hash,
  max_concurrent_runs, available_slots, leases_at_report, lease_duration_ms, registered_at_ms, updated_at_ms`;
const ENDING = 'status, decided_by, reason_code, finished_at_ms, updated_at_ms';
const AUDIT = 'occurred_at_ms, actor_kind, actor_id, action, project_id, subject_id, facts';

const GRANTS: Readonly<Record<string, Grants>> = {
  valise_ingress: {
    workers: { SELECT: true },
    worker_sessions: { SELECT: true, UPDATE: SESSION_REPORT },
    task_execution_revisions: { SELECT: true },
    runs: { SELECT: true, UPDATE: 'status, deadline_at_ms, stop_requested_at_ms, updated_at_ms' },
    attempts: {
      SELECT: true,
      UPDATE: `${ENDING}, claims, executor_handle, log_artifact_id, callback_sequence, callback_token_digest,
        exit_code, signal, started_at_ms`,
    },
    leases: {
      SELECT: true,
      UPDATE: `state, generation, version, worker_id, session_id, worker_generation, offer_id, token_digest,
        duration_ms, acquired_at_ms, renewed_at_ms, expires_at_ms, authorisations, open_record_id, open_since_ms,
        updated_at_ms`,
    },
    lease_claims: { SELECT: true, INSERT: true },
    delivery_records: { INSERT: true },
    delivery_outcomes: { INSERT: true },
    denial_windows: { SELECT: true, UPDATE: 'started_at_ms, denials, unrecorded' },
    late_reports: { SELECT: 'attempt_id, lease_generation, kind', INSERT: true },
    artifact_uploads: { INSERT: true },
    artifact_chunks: { INSERT: true },
    artifacts: { SELECT: true, INSERT: true },
    artifact_usage: { SELECT: true, INSERT: true, UPDATE: 'byte_length' },
  },
  valise_operator: {
    workers: { SELECT: true, INSERT: true, UPDATE: 'status, projects, labels, updated_at_ms' },
    worker_sessions: {
      SELECT: true,
      INSERT: 'worker_id, updated_at_ms',
      UPDATE: 'status, version, updated_at_ms',
    },
    mutations: { SELECT: true, INSERT: true },
    tasks: { SELECT: true, INSERT: true, UPDATE: 'revision, updated_at_ms' },
    task_definition_revisions: { SELECT: true, INSERT: true },
    task_execution_revisions: { SELECT: true, INSERT: true },
    runs: {
      SELECT: true,
      INSERT: true,
      UPDATE: `status, newest_attempt_number, cancel_requested_at_ms, stop_requested_at_ms, deadline_at_ms,
        updated_at_ms`,
    },
    attempts: { SELECT: true, INSERT: true, UPDATE: ENDING },
    leases: {
      SELECT: true,
      INSERT: 'attempt_id, updated_at_ms',
      UPDATE: 'state, version, expires_at_ms, updated_at_ms',
    },
    delivery_records: { SELECT: true },
    delivery_outcomes: { SELECT: true },
    denial_windows: { INSERT: 'worker_id' },
    late_reports: { SELECT: true },
    artifacts: { SELECT: true },
    artifact_chunks: { SELECT: true },
    audit_events: { SELECT: true, INSERT: AUDIT },
  },
  valise_sweeper: {
    worker_sessions: { SELECT: true, UPDATE: 'status, version, updated_at_ms' },
    task_execution_revisions: {
      SELECT: 'project_id, task_id, revision, secret_refs, environment_bundle_refs',
    },
    runs: { SELECT: true, UPDATE: 'status, deadline_at_ms, stop_requested_at_ms, updated_at_ms' },
    attempts: { SELECT: true, UPDATE: ENDING },
    leases: { SELECT: true, UPDATE: 'state, version, updated_at_ms' },
    denial_windows: { SELECT: true, UPDATE: 'unrecorded' },
    artifact_uploads: { SELECT: true, DELETE: true },
    artifacts: { SELECT: 'upload_id' },
    audit_events: { INSERT: AUDIT },
  },
  valise_retention: {},
};

const FUNCTIONS: Readonly<Record<string, readonly string[]>> = {
  valise_ingress: ['clock_ms()'],
  valise_operator: ['clock_ms()'],
  valise_sweeper: ['clock_ms()', 'create_partitions(integer, integer)'],
  valise_retention: ['clock_ms()', 'create_partitions(integer, integer)', 'drop_partitions(bigint)'],
};

/** What each role may do: this and nothing else. Nobody may change or delete what is append-only. */
export class Grants1764460800008 implements MigrationInterface {
  readonly name = 'Grants1764460800008';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const [role, grants] of Object.entries(GRANTS)) {
      await queryRunner.query(`GRANT USAGE ON SCHEMA valise TO ${role}`);
      for (const [table, privileges] of Object.entries(grants)) {
        for (const [privilege, columns] of Object.entries(privileges)) {
          const what = columns === true ? privilege : `${privilege} (${columns})`;
          await queryRunner.query(`GRANT ${what} ON ${table} TO ${role}`);
        }
      }
      for (const name of FUNCTIONS[role] ?? []) {
        await queryRunner.query(`GRANT EXECUTE ON FUNCTION ${name} TO ${role}`);
      }
    }
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    const roles = Object.keys(GRANTS).join(', ');
    await queryRunner.query(`REVOKE ALL ON ALL TABLES IN SCHEMA valise FROM ${roles}`);
    await queryRunner.query(`REVOKE ALL ON ALL FUNCTIONS IN SCHEMA valise FROM ${roles}`);
    await queryRunner.query(`REVOKE ALL ON SCHEMA valise FROM ${roles}`);
  }
}
