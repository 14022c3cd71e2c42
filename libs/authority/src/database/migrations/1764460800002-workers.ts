import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What operators allow a worker, and the one life it has now. */
export class Workers1764460800002 implements MigrationInterface {
  readonly name = 'Workers1764460800002';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE workers (
        worker_id text COLLATE "C" CONSTRAINT pk_workers PRIMARY KEY,
        status text NOT NULL CONSTRAINT ck_workers_status CHECK (status IN ('active', 'draining', 'revoked')),
        projects text[] NOT NULL,
        labels jsonb NOT NULL,
        created_at_ms bigint NOT NULL,
        updated_at_ms bigint NOT NULL
      )`);

    // One row per worker, made with it: generation 0 is a worker that never registered.
    await queryRunner.query(`
      CREATE TABLE worker_sessions (
        worker_id text COLLATE "C" CONSTRAINT pk_worker_sessions PRIMARY KEY
          CONSTRAINT fk_worker_sessions_workers REFERENCES workers,
        session_id text COLLATE "C",
        generation integer NOT NULL DEFAULT 0,
        version integer NOT NULL DEFAULT 0,
        status text NOT NULL DEFAULT 'offline'
          CONSTRAINT ck_worker_sessions_status CHECK (status IN ('online', 'draining', 'offline')),
        expires_at_ms bigint NOT NULL DEFAULT 0,
        capabilities_json text,
        capabilities_hash text,
        max_concurrent_runs integer NOT NULL DEFAULT 0,
        available_slots integer NOT NULL DEFAULT 0,
        leases_at_report integer NOT NULL DEFAULT 0,
        lease_duration_ms integer NOT NULL DEFAULT 0,
        registered_at_ms bigint,
        updated_at_ms bigint NOT NULL,
        CONSTRAINT ck_worker_sessions_generation CHECK ((generation = 0) = (session_id IS NULL))
      ) WITH (fillfactor = 70)`);
    await queryRunner.query(`
      CREATE INDEX ix_worker_sessions_expiry ON worker_sessions (expires_at_ms) WHERE status <> 'offline'`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE worker_sessions');
    await queryRunner.query('DROP TABLE workers');
  }
}
