import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Logs that are old enough are found by index, and the sweeper may remove them. */
export class LogRetention1764460800013 implements MigrationInterface {
  readonly name = 'LogRetention1764460800013';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('CREATE INDEX ix_artifacts_stored ON artifacts (stored_at_ms)');
    await queryRunner.query('GRANT SELECT, DELETE ON artifacts TO valise_sweeper');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('REVOKE SELECT, DELETE ON artifacts FROM valise_sweeper');
    await queryRunner.query('GRANT SELECT (upload_id) ON artifacts TO valise_sweeper');
    await queryRunner.query('DROP INDEX ix_artifacts_stored');
  }
}
