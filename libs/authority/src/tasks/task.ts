import {
  compileExecutionRevision,
  createTaskDefinition,
  createTaskRevisionRef,
  type ExecutionRevision,
  type Spec,
  type TaskDefinition,
} from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import type { PublishTaskRequest, PublishTaskResponse } from '@valise/contracts/wire';

/** A task's current revision, or any other of its revisions. */
export interface Task {
  readonly projectId: string;
  readonly taskId: string;
  readonly revision: number;
  readonly contentDigest: string;
  /** null for a disabled revision: nothing to execute. */
  readonly executionDigest: string | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface Publication {
  readonly definition: TaskDefinition;
  readonly execution: ExecutionRevision | null;
}

/**
 * The revision that the request asks for, as if made at `nowMs`.
 * @throws ValiseError TASK_DEFINITION_INVALID, and the compiler's codes for an enabled task
 */
export function createPublication(
  projectId: string,
  taskId: string,
  request: PublishTaskRequest,
  spec: Spec,
  head: Task | null,
  nowMs: number,
): Publication {
  const { expectedRevision, mutationId, name, description, kind, labels, enabled } = request;
  const definition = createTaskDefinition(
    {
      projectId,
      taskId,
      expectedRevision,
      mutationId,
      name,
      ...(description !== undefined && { description }),
      kind,
      spec,
      labels,
      enabled,
      // The clock of a promoted standby may be behind.
      occurredAtMs: Math.max(nowMs, head?.updatedAtMs ?? 0),
    },
    head?.createdAtMs ?? nowMs,
  );
  return { definition, execution: enabled ? compileExecutionRevision(definition) : null };
}

/** @throws ValiseError revision_conflict */
export function assertNext(head: Task | null, expectedRevision: number | null): void {
  if ((head?.revision ?? null) !== expectedRevision) {
    throw new ValiseError('revision_conflict', {
      expected: expectedRevision ?? 'none',
      current: head?.revision ?? 'none',
    });
  }
}

export function taskView(task: Task): Omit<PublishTaskResponse, 'outcome'> {
  const { projectId, taskId, revision, contentDigest, executionDigest, createdAtMs, updatedAtMs } = task;
  return {
    projectId,
    taskId,
    revision,
    contentDigest,
    taskRevision: createTaskRevisionRef(revision, contentDigest),
    ...(executionDigest !== null && { executionDigest }),
    createdAtMs,
    updatedAtMs,
  };
}
