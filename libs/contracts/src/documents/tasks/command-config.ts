import { readAbsolutePath, readCommand, readTimeoutMs, type Command } from './command.js';
import { readDeclaredEnvironment, type DeclaredEnvironment } from '../environment/environment-binding.js';
import { normalizePlacement, type Placement } from '../workers/placement.js';
import { readRecord } from '../json/plain-data.js';
import { refusal, type Refuse } from '../refusal.js';
import { readTaskSpec, readTaskKind, type TaskKind } from './task-specification.js';
import type { Spec } from './specification.js';
import { identifier } from '../text/text.js';

export const COMMAND_SCHEMA = 'qinglong/command@v1';

/** What a command's configuration means, with the default shell written out. */
export interface CommandConfig extends DeclaredEnvironment {
  readonly command: Command;
  readonly placement?: Placement;
  readonly timeoutMs?: number;
  readonly workingDirectory?: string;
}

export interface CommandSpecContext {
  readonly projectId: string;
  readonly taskId: string;
  readonly kind: TaskKind;
  readonly spec: unknown;
}

const CONFIG_KEYS = ['environment', 'environmentBundleRef', 'placement', 'timeoutMs', 'workingDirectory'];

const refuseDefinition: Refuse = refusal('TASK_DEFINITION_INVALID');
const refuseSchema: Refuse = refusal('TASK_SPEC_UNSUPPORTED');
const refuseMeaning: Refuse = refusal('TASK_SPEC_SEMANTIC_INVALID');

/**
 * The canonical specification of a command task: defaults written out, keys and bindings sorted.
 * @throws ValiseError TASK_DEFINITION_INVALID (generic layer), then TASK_SPEC_UNSUPPORTED (unknown schema), then
 * TASK_SPEC_SEMANTIC_INVALID (kind or content)
 */
export function normalizeCommandSpec(input: CommandSpecContext): Spec {
  const context = readRecord(input, ['projectId', 'taskId', 'kind', 'spec'], [], 'task', refuseDefinition);
  const projectId = identifier(context.projectId, 'projectId', refuseDefinition);
  identifier(context.taskId, 'taskId', refuseDefinition);
  const kind = readTaskKind(context.kind, refuseDefinition);
  const spec = readTaskSpec(context.spec, refuseDefinition);
  if (spec.schema !== COMMAND_SCHEMA) refuseSchema({ field: 'spec.schema', rule: 'known_schema' });
  if (kind !== 'command') refuseMeaning({ field: 'kind', rule: 'command' });
  // The canonical form is a specification itself: with its defaults it has to keep the generic limits too.
  return readTaskSpec(
    { schema: COMMAND_SCHEMA, config: readCommandConfig(spec.config, projectId) },
    refuseDefinition,
  );
}

/**
 * What a command's configuration means for a task of `projectId`.
 * @throws ValiseError TASK_SPEC_SEMANTIC_INVALID
 */
export function readCommandConfig(config: unknown, projectId: string): CommandConfig {
  const given = readRecord(config, ['command'], CONFIG_KEYS, 'config', refuseMeaning);
  const { environment = [], environmentBundleRef, placement, timeoutMs, workingDirectory } = given;
  const command = readCommand(given.command, refuseMeaning);
  return {
    command: command.kind === 'shell' ? { shell: '/bin/sh', ...command } : command,
    ...readDeclaredEnvironment(environment, environmentBundleRef, projectId, refuseMeaning),
    ...(placement !== undefined && { placement: normalizePlacement(placement, refuseMeaning) }),
    ...(timeoutMs !== undefined && { timeoutMs: readTimeoutMs(timeoutMs, refuseMeaning) }),
    ...(workingDirectory !== undefined && {
      workingDirectory: readAbsolutePath(workingDirectory, 'workingDirectory', refuseMeaning),
    }),
  };
}
