import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An upload takes its project's room from the first byte on, and a log has one upload at a time. */
export class Uploads1764460800009 implements MigrationInterface {
  readonly name = 'Uploads1764460800009';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DELETE FROM artifact_uploads
       WHERE NOT EXISTS (SELECT FROM artifacts WHERE artifacts.upload_id = artifact_uploads.upload_id)`);
    await queryRunner.query(`
      ALTER TABLE artifact_uploads ADD COLUMN project_id text COLLATE "C", ADD COLUMN byte_length integer`);
    await queryRunner.query(`
      UPDATE artifact_uploads SET project_id = artifacts.project_id, byte_length = artifacts.byte_length
        FROM artifacts WHERE artifacts.upload_id = artifact_uploads.upload_id`);
    await queryRunner.query(`
      ALTER TABLE artifact_uploads
        ALTER COLUMN project_id SET NOT NULL,
        ALTER COLUMN byte_length SET NOT NULL,
        ADD CONSTRAINT uq_artifact_uploads_log UNIQUE (log_artifact_id)`);
    await queryRunner.query('GRANT SELECT, DELETE ON artifact_uploads TO valise_ingress');
    await queryRunner.query('GRANT SELECT, UPDATE (byte_length) ON artifact_usage TO valise_sweeper');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('REVOKE SELECT, UPDATE (byte_length) ON artifact_usage FROM valise_sweeper');
    await queryRunner.query('REVOKE SELECT, DELETE ON artifact_uploads FROM valise_ingress');
    await queryRunner.query(`
      ALTER TABLE artifact_uploads
        DROP CONSTRAINT uq_artifact_uploads_log, DROP COLUMN byte_length, DROP COLUMN project_id`);
  }
}
