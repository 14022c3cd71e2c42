import type { MigrationInterface, QueryRunner } from 'typeorm';

const REASONS = `'secret_unavailable', 'secret_response_invalid', 'environment_budget_exceeded',
  'environment_name_refused', 'environment_name_conflict', 'delivery_denied', 'delivery_budget_exhausted',
  'artifact_unavailable', 'command_not_found', 'command_not_executable', 'argument_list_too_long', 'out_of_memory',
  'killed_by_signal', 'stopped_by_operator', 'stopped_by_timeout', 'lease_lost', 'worker_restarted',
  'worker_shutdown', 'worker_unavailable', 'launch_outcome_unknown'`;

/** Runs, their attempts, the one lease row of each attempt, and every claim ever made. */
export class Runs1764460800004 implements MigrationInterface {
  readonly name = 'Runs1764460800004';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE runs (
        run_id text COLLATE "C" CONSTRAINT pk_runs PRIMARY KEY,
        project_id text COLLATE "C" NOT NULL,
        task_id text COLLATE "C" NOT NULL,
        revision integer NOT NULL,
        task_revision text NOT NULL,
        priority integer NOT NULL CONSTRAINT ck_runs_priority CHECK (priority BETWEEN 0 AND 1000),
        status text NOT NULL CONSTRAINT ck_runs_status CHECK (status IN ('queued', 'dispatching', 'running',
          'succeeded', 'failed', 'cancelled', 'timed_out', 'lost')),
        newest_attempt_number integer NOT NULL CONSTRAINT ck_runs_newest CHECK (newest_attempt_number >= 1),
        cancel_requested_at_ms bigint,
        stop_requested_at_ms bigint,
        deadline_at_ms bigint,
        created_at_ms bigint NOT NULL,
        updated_at_ms bigint NOT NULL,
        CONSTRAINT fk_runs_execution FOREIGN KEY (project_id, task_id, revision) REFERENCES task_execution_revisions
      ) WITH (fillfactor = 80)`);
    await queryRunner.query(`
      CREATE INDEX ix_runs_deadline ON runs (deadline_at_ms)
        WHERE deadline_at_ms IS NOT NULL AND stop_requested_at_ms IS NULL AND status IN ('dispatching', 'running')`);

    await queryRunner.query(`
      CREATE TABLE attempts (
        attempt_id text COLLATE "C" CONSTRAINT pk_attempts PRIMARY KEY,
        run_id text COLLATE "C" NOT NULL CONSTRAINT fk_attempts_runs REFERENCES runs,
        attempt_number integer NOT NULL,
        project_id text COLLATE "C" NOT NULL,
        priority integer NOT NULL,
        status text NOT NULL CONSTRAINT ck_attempts_status CHECK (status IN ('queued', 'claimed', 'starting',
          'running', 'succeeded', 'failed', 'cancelled', 'timed_out', 'lost')),
        claims integer NOT NULL DEFAULT 0 CONSTRAINT ck_attempts_claims CHECK (claims BETWEEN 0 AND 5),
        decided_by text CONSTRAINT ck_attempts_decided_by
          CHECK (decided_by IN ('start_failure', 'completion', 'sweeper', 'operator')),
        executor_handle text,
        log_artifact_id text,
        callback_sequence integer NOT NULL DEFAULT 0,
        callback_token_digest text,
        exit_code integer CONSTRAINT ck_attempts_exit_code CHECK (exit_code BETWEEN 0 AND 255),
        signal text,
        reason_code text CONSTRAINT ck_attempts_reason_code CHECK (reason_code IN (${REASONS})),
        queued_at_ms bigint NOT NULL,
        started_at_ms bigint,
        finished_at_ms bigint,
        created_at_ms bigint NOT NULL,
        updated_at_ms bigint NOT NULL,
        CONSTRAINT uq_attempts_number UNIQUE (run_id, attempt_number)
      ) WITH (fillfactor = 80)`);
    await queryRunner.query(`
      CREATE INDEX ix_attempts_queue ON attempts ((-priority), queued_at_ms, attempt_id) WHERE status = 'queued'`);
    // Written otherwise than above, so that the planner cannot search the whole queue for a project that has nothing.
    await queryRunner.query(`
      CREATE INDEX ix_attempts_project_queue ON attempts (project_id, (1000 - priority), queued_at_ms, attempt_id)
        WHERE status = 'queued'`);

    // The row a delivery watches. open_* name the authorised delivery of this claim that has no outcome yet.
    // No foreign key to the worker: checking it would lock the worker's row after the lease. Room is left on each page,
    // and expiry is in no index, so that a delivery's update and a renewal touch no index: an index page that one
    // SERIALIZABLE transaction writes and the others have read is a conflict of all of them.
    await queryRunner.query(`
      CREATE TABLE leases (
        attempt_id text COLLATE "C" CONSTRAINT pk_leases PRIMARY KEY
          CONSTRAINT fk_leases_attempts REFERENCES attempts,
        state text NOT NULL DEFAULT 'released'
          CONSTRAINT ck_leases_state CHECK (state IN ('leased', 'released', 'completed')),
        generation integer NOT NULL DEFAULT 0,
        version integer NOT NULL DEFAULT 0,
        worker_id text COLLATE "C",
        session_id text COLLATE "C",
        worker_generation integer,
        offer_id text COLLATE "C",
        token_digest text,
        duration_ms integer NOT NULL DEFAULT 0,
        acquired_at_ms bigint NOT NULL DEFAULT 0,
        renewed_at_ms bigint NOT NULL DEFAULT 0,
        expires_at_ms bigint NOT NULL DEFAULT 0,
        authorisations integer NOT NULL DEFAULT 0
          CONSTRAINT ck_leases_authorisations CHECK (authorisations BETWEEN 0 AND 8),
        open_record_id uuid,
        open_since_ms bigint,
        updated_at_ms bigint NOT NULL,
        CONSTRAINT ck_leases_holder CHECK (state <> 'leased' OR (worker_id IS NOT NULL AND session_id IS NOT NULL
          AND worker_generation IS NOT NULL AND offer_id IS NOT NULL AND token_digest IS NOT NULL)),
        CONSTRAINT ck_leases_open CHECK ((open_record_id IS NULL) = (open_since_ms IS NULL))
      ) WITH (fillfactor = 30)`);
    await queryRunner.query(
      `CREATE INDEX ix_leases_held ON leases (worker_id, session_id) WHERE state = 'leased'`,
    );

    await queryRunner.query(`
      CREATE TABLE lease_claims (
        offer_id text COLLATE "C" CONSTRAINT pk_lease_claims PRIMARY KEY,
        attempt_id text COLLATE "C" NOT NULL CONSTRAINT fk_lease_claims_attempts REFERENCES attempts,
        lease_generation integer NOT NULL,
        worker_id text COLLATE "C" NOT NULL,
        session_id text COLLATE "C" NOT NULL,
        worker_generation integer NOT NULL,
        token_digest text NOT NULL,
        placement_score integer NOT NULL,
        claimed_at_ms bigint NOT NULL,
        CONSTRAINT uq_lease_claims_generation UNIQUE (attempt_id, lease_generation)
      )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE lease_claims');
    await queryRunner.query('DROP TABLE leases');
    await queryRunner.query('DROP TABLE attempts');
    await queryRunner.query('DROP TABLE runs');
  }
}
