import { ValiseError } from '../../failure/index.js';
import {
  COMMAND_SCHEMA,
  normalizeCommandSpec,
  readCommandConfig,
  type CommandConfig,
} from './command-config.js';
import {
  createExecutionRevision,
  EXECUTION_PLAN_SCHEMA,
  type ExecutionPlan,
  type ExecutionRevision,
} from './execution-revision.js';
import { refusal, type Refuse } from '../refusal.js';
import { readTaskDefinition, type TaskDefinition } from './task-definition.js';
import { createTaskRevisionRef } from './task-revision-ref.js';

/** What the one-machine compiler makes of a task: no executor, no plan schema, no digest, no placement by default. */
export type LocalExecution = Omit<ExecutionPlan, 'executorType' | 'planSchema'>;

const refuse: Refuse = refusal('TASK_DEFINITION_COMPILATION_INVALID');
const refuseKind: Refuse = refusal('TASK_DEFINITION_COMPILATION_UNSUPPORTED');

/**
 * The execution revision of an enabled, canonical command definition; its placement is always written out.
 * @throws ValiseError TASK_DEFINITION_COMPILATION_INVALID for a record that does not verify, is disabled or is not
 * canonical; TASK_DEFINITION_COMPILATION_UNSUPPORTED for another kind or schema
 */
export function compileExecutionRevision(definition: TaskDefinition): ExecutionRevision {
  const { source, config } = readCompilable(definition);
  return compiling(() =>
    createExecutionRevision({
      ...source,
      executorType: 'remote_worker',
      planSchema: EXECUTION_PLAN_SCHEMA,
      ...config,
      placement: config.placement ?? {},
    }),
  );
}

/**
 * What a single machine runs. It has no secret delivery, so a task with a bundle is not its to run.
 * @throws ValiseError as `compileExecutionRevision`, and TASK_DEFINITION_COMPILATION_UNSUPPORTED for a bundle
 */
export function compileLocalExecution(definition: TaskDefinition): LocalExecution {
  const { source, config } = readCompilable(definition);
  if (config.environmentBundleRef !== undefined)
    refuseKind({ field: 'environmentBundleRef', rule: 'absent' });
  return { ...source, ...config };
}

type Source = Pick<
  ExecutionPlan,
  'projectId' | 'taskId' | 'taskRevision' | 'sourceRevision' | 'sourceContentDigest' | 'createdAtMs'
>;

function readCompilable(definition: unknown): { source: Source; config: CommandConfig } {
  const task = readTaskDefinition(definition, refuse);
  const { projectId, taskId, kind, spec, revision, contentDigest, updatedAtMs } = task;
  if (!task.enabled) refuse({ field: 'enabled', rule: 'enabled' });
  if (kind !== 'command' || spec.schema !== COMMAND_SCHEMA)
    refuseKind({ field: 'spec.schema', rule: 'command' });
  const canonical = compiling(() => normalizeCommandSpec({ projectId, taskId, kind, spec }));
  // Both texts have sorted keys, so only what they mean can differ.
  if (JSON.stringify(canonical) !== JSON.stringify(spec)) refuse({ field: 'spec', rule: 'canonical' });
  return {
    source: {
      projectId,
      taskId,
      taskRevision: createTaskRevisionRef(revision, contentDigest),
      sourceRevision: revision,
      sourceContentDigest: contentDigest,
      createdAtMs: updatedAtMs,
    },
    config: readCommandConfig(canonical.config, projectId),
  };
}

/** A document below that refuses makes the definition one that cannot be compiled. */
function compiling<T>(step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (error instanceof ValiseError) refuse(error.facts);
    throw error;
  }
}
