import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The audit trail, and what workers said after the attempt was decided. */
export class Records1764460800007 implements MigrationInterface {
  readonly name = 'Records1764460800007';

  async up(queryRunner: QueryRunner): Promise<void> {
    // transaction_id lets a reader stop below the oldest transaction that is still open, and so miss nothing.
    await queryRunner.query(`
      CREATE TABLE audit_events (
        event_id bigint GENERATED ALWAYS AS IDENTITY,
        occurred_at_ms bigint NOT NULL,
        transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
        actor_kind text NOT NULL CONSTRAINT ck_audit_events_actor CHECK (actor_kind IN ('operator', 'sweeper')),
        actor_id text COLLATE "C" NOT NULL,
        action text NOT NULL CONSTRAINT ck_audit_events_action CHECK (action ~ '^[a-z_]{1,64}$'),
        project_id text COLLATE "C",
        subject_id text COLLATE "C" NOT NULL,
        facts jsonb NOT NULL,
        CONSTRAINT pk_audit_events PRIMARY KEY (event_id, occurred_at_ms)
      ) PARTITION BY RANGE (occurred_at_ms)`);
    await queryRunner.query('CREATE INDEX ix_audit_events_order ON audit_events (transaction_id, event_id)');

    await queryRunner.query(`
      CREATE TABLE late_reports (
        report_id uuid NOT NULL,
        reported_at_ms bigint NOT NULL,
        kind text NOT NULL CONSTRAINT ck_late_reports_kind CHECK (kind IN ('start_failure', 'completion')),
        worker_id text COLLATE "C" NOT NULL,
        run_id text COLLATE "C" NOT NULL,
        attempt_id text COLLATE "C" NOT NULL,
        lease_generation integer NOT NULL,
        attempt_status text NOT NULL,
        outcome text CONSTRAINT ck_late_reports_outcome
          CHECK (outcome IN ('succeeded', 'failed', 'cancelled', 'timed_out')),
        exit_code integer,
        reason_code text,
        CONSTRAINT pk_late_reports PRIMARY KEY (report_id, reported_at_ms)
      ) PARTITION BY RANGE (reported_at_ms)`);
    await queryRunner.query(
      'CREATE INDEX ix_late_reports_attempt ON late_reports (attempt_id, lease_generation, kind)',
    );

    await queryRunner.query(`INSERT INTO partitioned_tables VALUES ('audit_events'), ('late_reports')`);
    await queryRunner.query('SELECT create_partitions(0, 3)');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `DELETE FROM partitioned_tables WHERE table_name IN ('audit_events', 'late_reports')`,
    );
    await queryRunner.query('DROP TABLE late_reports');
    await queryRunner.query('DROP TABLE audit_events');
  }
}
