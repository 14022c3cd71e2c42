import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Task heads, their append-only revisions, and the ids of the mutations that made anything. */
export class Tasks1764460800003 implements MigrationInterface {
  readonly name = 'Tasks1764460800003';

  async up(queryRunner: QueryRunner): Promise<void> {
    // A mutation id is used once in a project: the same content again is a replay, other content a conflict.
    await queryRunner.query(`
      CREATE TABLE mutations (
        project_id text COLLATE "C" NOT NULL,
        mutation_id text COLLATE "C" NOT NULL,
        kind text NOT NULL
          CONSTRAINT ck_mutations_kind CHECK (kind IN ('publish_task', 'start_run', 'cancel_run', 'retry_run')),
        content_digest text NOT NULL,
        subject_id text COLLATE "C" NOT NULL,
        result integer,
        applied_at_ms bigint NOT NULL,
        CONSTRAINT pk_mutations PRIMARY KEY (project_id, mutation_id)
      )`);

    await queryRunner.query(`
      CREATE TABLE task_definition_revisions (
        project_id text COLLATE "C" NOT NULL,
        task_id text COLLATE "C" NOT NULL,
        revision integer NOT NULL CONSTRAINT ck_task_definition_revisions_revision CHECK (revision >= 1),
        content_digest text NOT NULL,
        definition_json text NOT NULL,
        enabled boolean NOT NULL,
        created_at_ms bigint NOT NULL,
        updated_at_ms bigint NOT NULL,
        CONSTRAINT pk_task_definition_revisions PRIMARY KEY (project_id, task_id, revision)
      )`);

    // plan_json is the canonical text that content_digest covers; the columns after it are read from it, once.
    await queryRunner.query(`
      CREATE TABLE task_execution_revisions (
        project_id text COLLATE "C" NOT NULL,
        task_id text COLLATE "C" NOT NULL,
        revision integer NOT NULL,
        content_digest text NOT NULL,
        plan_json text NOT NULL,
        secret_refs text[] NOT NULL,
        environment_bundle_refs text[] NOT NULL
          CONSTRAINT ck_task_execution_revisions_bundle CHECK (cardinality(environment_bundle_refs) <= 1),
        placement_json text,
        timeout_ms bigint,
        created_at_ms bigint NOT NULL,
        CONSTRAINT pk_task_execution_revisions PRIMARY KEY (project_id, task_id, revision),
        CONSTRAINT fk_task_execution_revisions_definition
          FOREIGN KEY (project_id, task_id, revision) REFERENCES task_definition_revisions
      )`);

    await queryRunner.query(`
      CREATE TABLE tasks (
        project_id text COLLATE "C" NOT NULL,
        task_id text COLLATE "C" NOT NULL,
        revision integer NOT NULL,
        created_at_ms bigint NOT NULL,
        updated_at_ms bigint NOT NULL,
        CONSTRAINT pk_tasks PRIMARY KEY (project_id, task_id),
        CONSTRAINT fk_tasks_definition
          FOREIGN KEY (project_id, task_id, revision) REFERENCES task_definition_revisions
      )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE tasks');
    await queryRunner.query('DROP TABLE task_execution_revisions');
    await queryRunner.query('DROP TABLE task_definition_revisions');
    await queryRunner.query('DROP TABLE mutations');
  }
}
