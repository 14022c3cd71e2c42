import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What was decided about every delivery, what became of it, and how often a worker was refused lately. */
export class Deliveries1764460800005 implements MigrationInterface {
  readonly name = 'Deliveries1764460800005';

  async up(queryRunner: QueryRunner): Promise<void> {
    // No foreign keys: checking one would lock another row after the lease.
    await queryRunner.query(`
      CREATE TABLE delivery_records (
        record_id uuid NOT NULL,
        decided_at_ms bigint NOT NULL,
        decision text NOT NULL CONSTRAINT ck_delivery_records_decision CHECK (decision IN ('authorised', 'denied')),
        denial text CONSTRAINT ck_delivery_records_denial CHECK (denial ~ '^[a-z_]{1,64}$'),
        worker_id text COLLATE "C" NOT NULL,
        session_id text COLLATE "C",
        run_id text COLLATE "C",
        attempt_id text COLLATE "C",
        lease_generation integer,
        secret_count smallint NOT NULL,
        bundle_count smallint NOT NULL,
        certificate_serial text NOT NULL,
        request_digest text NOT NULL,
        CONSTRAINT pk_delivery_records PRIMARY KEY (record_id, decided_at_ms),
        CONSTRAINT ck_delivery_records_verdict CHECK ((decision = 'denied') = (denial IS NOT NULL))
      ) PARTITION BY RANGE (decided_at_ms)`);
    await queryRunner.query(`
      CREATE INDEX ix_delivery_records_run ON delivery_records (run_id, decided_at_ms, record_id)`);

    await queryRunner.query(`
      CREATE TABLE delivery_outcomes (
        record_id uuid NOT NULL,
        decided_at_ms bigint NOT NULL,
        outcome text NOT NULL
          CONSTRAINT ck_delivery_outcomes_outcome CHECK (outcome IN ('sent', 'custody_failed', 'aborted')),
        outcome_at_ms bigint NOT NULL,
        CONSTRAINT pk_delivery_outcomes PRIMARY KEY (record_id, decided_at_ms)
      ) PARTITION BY RANGE (decided_at_ms)`);

    // One row per worker, made with it; the row '' counts all that no operator ever put.
    await queryRunner.query(`
      CREATE TABLE denial_windows (
        worker_id text COLLATE "C" CONSTRAINT pk_denial_windows PRIMARY KEY,
        started_at_ms bigint NOT NULL DEFAULT 0,
        denials integer NOT NULL DEFAULT 0,
        unrecorded integer NOT NULL DEFAULT 0
      ) WITH (fillfactor = 70)`);
    await queryRunner.query(`INSERT INTO denial_windows (worker_id) VALUES ('')`);
    await queryRunner.query(
      `CREATE INDEX ix_denial_windows_unrecorded ON denial_windows (worker_id) WHERE unrecorded > 0`,
    );

    await queryRunner.query(
      `INSERT INTO partitioned_tables VALUES ('delivery_records'), ('delivery_outcomes')`,
    );
    await queryRunner.query('SELECT create_partitions(0, 3)');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `DELETE FROM partitioned_tables WHERE table_name IN ('delivery_records', 'delivery_outcomes')`,
    );
    await queryRunner.query('DROP TABLE denial_windows');
    await queryRunner.query('DROP TABLE delivery_outcomes');
    await queryRunner.query('DROP TABLE delivery_records');
  }
}
