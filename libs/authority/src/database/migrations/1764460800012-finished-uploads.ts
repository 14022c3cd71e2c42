import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What was never finished is found without looking at all that was. */
export class FinishedUploads1764460800012 implements MigrationInterface {
  readonly name = 'FinishedUploads1764460800012';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'ALTER TABLE artifact_uploads ADD COLUMN finished boolean NOT NULL DEFAULT false',
    );
    await queryRunner.query(`
      UPDATE artifact_uploads SET finished = true
        FROM artifacts WHERE artifacts.upload_id = artifact_uploads.upload_id`);
    await queryRunner.query('DROP INDEX ix_artifact_uploads_age');
    await queryRunner.query(
      'CREATE INDEX ix_artifact_uploads_unfinished ON artifact_uploads (started_at_ms) WHERE NOT finished',
    );
    await queryRunner.query('GRANT UPDATE (finished) ON artifact_uploads TO valise_ingress');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('REVOKE UPDATE (finished) ON artifact_uploads FROM valise_ingress');
    await queryRunner.query('ALTER TABLE artifact_uploads DROP COLUMN finished');
    await queryRunner.query('CREATE INDEX ix_artifact_uploads_age ON artifact_uploads (started_at_ms)');
  }
}
