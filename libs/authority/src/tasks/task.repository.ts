import { Injectable } from '@nestjs/common';
import {
  executionReferences,
  executionRevisionPreimage,
  type ExecutionRevision,
  type TaskDefinition,
} from '@valise/contracts/documents';
import type { Tx } from '../database/tx.js';
import type { Task } from './task.js';

interface TaskRow {
  project_id: string;
  task_id: string;
  revision: number;
  content_digest: string;
  execution_digest: string | null;
  created_at_ms: number;
  updated_at_ms: number;
}

const TASK = `definition.project_id, definition.task_id, definition.revision, definition.content_digest,
  plan.content_digest AS execution_digest, definition.created_at_ms, definition.updated_at_ms`;
const PLAN = `LEFT JOIN task_execution_revisions plan ON plan.project_id = definition.project_id
  AND plan.task_id = definition.task_id AND plan.revision = definition.revision`;

/** Task heads and their append-only revisions. */
@Injectable()
export class TaskRepository {
  async readClock(tx: Tx): Promise<number> {
    const [row] = await tx.query<{ now_ms: number }>('SELECT clock_ms() AS now_ms');
    return row?.now_ms ?? 0;
  }

  async findHead(tx: Tx, projectId: string, taskId: string): Promise<Task | null> {
    return taskOf(
      await tx.query<TaskRow>(
        `SELECT ${TASK} FROM tasks
           JOIN task_definition_revisions definition ON definition.project_id = tasks.project_id
            AND definition.task_id = tasks.task_id AND definition.revision = tasks.revision
           ${PLAN}
          WHERE tasks.project_id = $1 AND tasks.task_id = $2`,
        [projectId, taskId],
      ),
    );
  }

  async findRevision(tx: Tx, projectId: string, taskId: string, revision: number): Promise<Task | null> {
    return taskOf(
      await tx.query<TaskRow>(
        `SELECT ${TASK} FROM task_definition_revisions definition ${PLAN}
          WHERE definition.project_id = $1 AND definition.task_id = $2 AND definition.revision = $3`,
        [projectId, taskId, revision],
      ),
    );
  }

  async appendDefinition(tx: Tx, definition: TaskDefinition): Promise<void> {
    await tx.query(
      `INSERT INTO task_definition_revisions
              (project_id, task_id, revision, content_digest, definition_json, enabled, created_at_ms, updated_at_ms)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        definition.projectId,
        definition.taskId,
        definition.revision,
        definition.contentDigest,
        JSON.stringify(definition),
        definition.enabled,
        definition.createdAtMs,
        definition.updatedAtMs,
      ],
    );
  }

  /** Of a bundle nothing is stored but its reference. */
  async appendExecution(tx: Tx, execution: ExecutionRevision): Promise<void> {
    const preimage = executionRevisionPreimage(execution);
    const { secretRefs, environmentBundleRefs } = executionReferences(execution);
    await tx.query(
      `INSERT INTO task_execution_revisions
              (project_id, task_id, revision, content_digest, plan_json, secret_refs, environment_bundle_refs,
               placement_json, timeout_ms, created_at_ms)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [
        execution.projectId,
        execution.taskId,
        execution.sourceRevision,
        execution.contentDigest,
        preimage.slice(preimage.indexOf('\0') + 1),
        secretRefs,
        environmentBundleRefs,
        execution.placement === undefined ? null : JSON.stringify(execution.placement),
        execution.timeoutMs ?? null,
        execution.createdAtMs,
      ],
    );
  }

  async insertHead(tx: Tx, definition: TaskDefinition): Promise<void> {
    await tx.query(
      `INSERT INTO tasks (project_id, task_id, revision, created_at_ms, updated_at_ms) VALUES ($1, $2, $3, $4, $5)`,
      [
        definition.projectId,
        definition.taskId,
        definition.revision,
        definition.createdAtMs,
        definition.updatedAtMs,
      ],
    );
  }

  /** False when the head is not the one that was read. */
  async moveHead(tx: Tx, definition: TaskDefinition): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE tasks SET revision = $3, updated_at_ms = $4
        WHERE project_id = $1 AND task_id = $2 AND revision = $3 - 1 RETURNING true AS moved`,
      [definition.projectId, definition.taskId, definition.revision, definition.updatedAtMs],
    );
    return rows.length > 0;
  }
}

function taskOf([row]: TaskRow[]): Task | null {
  if (!row) return null;
  return {
    projectId: row.project_id,
    taskId: row.task_id,
    revision: row.revision,
    contentDigest: row.content_digest,
    executionDigest: row.execution_digest,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  };
}
