import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Log artefacts: uploads in chunks, and the artefacts that complete uploads became. */
export class Artifacts1764460800006 implements MigrationInterface {
  readonly name = 'Artifacts1764460800006';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE artifact_uploads (
        upload_id uuid CONSTRAINT pk_artifact_uploads PRIMARY KEY,
        log_artifact_id text COLLATE "C" NOT NULL,
        started_at_ms bigint NOT NULL
      )`);
    await queryRunner.query('CREATE INDEX ix_artifact_uploads_age ON artifact_uploads (started_at_ms)');

    await queryRunner.query(`
      CREATE TABLE artifact_chunks (
        upload_id uuid NOT NULL
          CONSTRAINT fk_artifact_chunks_uploads REFERENCES artifact_uploads ON DELETE CASCADE,
        ordinal integer NOT NULL,
        content bytea NOT NULL CONSTRAINT ck_artifact_chunks_size CHECK (octet_length(content) <= 1048576),
        CONSTRAINT pk_artifact_chunks PRIMARY KEY (upload_id, ordinal)
      )`);
    await queryRunner.query('ALTER TABLE artifact_chunks ALTER COLUMN content SET STORAGE EXTERNAL');

    await queryRunner.query(`
      CREATE TABLE artifacts (
        log_artifact_id text COLLATE "C" CONSTRAINT pk_artifacts PRIMARY KEY,
        upload_id uuid NOT NULL CONSTRAINT uq_artifacts_upload UNIQUE
          CONSTRAINT fk_artifacts_uploads REFERENCES artifact_uploads,
        project_id text COLLATE "C" NOT NULL,
        run_id text COLLATE "C" NOT NULL,
        attempt_id text COLLATE "C" NOT NULL,
        byte_length integer NOT NULL,
        sha256 text NOT NULL,
        truncated boolean NOT NULL,
        stored_at_ms bigint NOT NULL
      )`);
    await queryRunner.query(
      'CREATE INDEX ix_artifacts_attempt ON artifacts (attempt_id, stored_at_ms DESC, log_artifact_id)',
    );

    await queryRunner.query(`
      CREATE TABLE artifact_usage (
        project_id text COLLATE "C" CONSTRAINT pk_artifact_usage PRIMARY KEY,
        byte_length bigint NOT NULL
      )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE artifact_usage');
    await queryRunner.query('DROP TABLE artifacts');
    await queryRunner.query('DROP TABLE artifact_chunks');
    await queryRunner.query('DROP TABLE artifact_uploads');
  }
}
