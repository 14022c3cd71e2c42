import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The queue is also read by what is to be run, so that one revision is one entry, however many attempts have it. */
export class QueueByRevision1764460800011 implements MigrationInterface {
  readonly name = 'QueueByRevision1764460800011';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE attempts ADD COLUMN execution_digest text COLLATE "C"');
    await queryRunner.query(`
      UPDATE attempts SET execution_digest = plan.content_digest
        FROM runs JOIN task_execution_revisions plan ON plan.project_id = runs.project_id
         AND plan.task_id = runs.task_id AND plan.revision = runs.revision
       WHERE runs.run_id = attempts.run_id`);
    await queryRunner.query('ALTER TABLE attempts ALTER COLUMN execution_digest SET NOT NULL');
    // Written otherwise than the other two, so that the planner cannot search a project's whole queue for one revision.
    await queryRunner.query(`
      CREATE INDEX ix_attempts_revision_queue
        ON attempts (project_id, execution_digest, (2000 - priority), queued_at_ms, attempt_id)
        WHERE status = 'queued'`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE attempts DROP COLUMN execution_digest');
  }
}
