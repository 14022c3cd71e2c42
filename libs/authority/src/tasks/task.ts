import {
  compileExecutionRevision,
  createTaskDefinition,
  createTaskRevisionRef,
  readCommandConfig,
  refusedNameClass,
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

/**
 * A binding whose name would change how programs are loaded or interpreted is refused before it is stored: a worker
 * would refuse it anyway, and only then.
 * @throws ValiseError TASK_SPEC_SEMANTIC_INVALID with the class of the name
 */
export function assertNamesPermitted(projectId: string, spec: Spec, allowed: ReadonlySet<string>): void {
  const { environment } = readCommandConfig(spec.config, projectId);
  for (const [index, { name }] of environment.entries()) {
    const refused = refusedNameClass(name);
    if (refused !== null && !allowed.has(name)) {
      const field = `spec.config.environment[${index}].name`;
      throw new ValiseError('TASK_SPEC_SEMANTIC_INVALID', { field, rule: 'name_policy', class: refused });
    }
  }
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
