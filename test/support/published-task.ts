import { randomUUID } from 'node:crypto';
import { createSecretReference } from '@valise/contracts/documents';
import type { PublishTaskRequest } from '@valise/contracts/wire';
import type { Fields } from '../../apps/cli/src/management/management-client.js';

export const PROJECT = 'project-1';
/** Who publishes tasks and starts their runs. */
export const OPERATOR = { operatorId: 'operator-1' };
/** What `publication()` refers to. */
export const SECRET = createSecretReference({ projectId: PROJECT, name: 'token' });
export const BUNDLE = createSecretReference({ projectId: PROJECT, name: 'env', version: 1 });

/** A shell command with one secret and a bundle. */
export function publication(task: Partial<PublishTaskRequest> = {}): Fields<PublishTaskRequest> {
  return {
    expectedRevision: null,
    mutationId: randomUUID(),
    name: 'Task',
    kind: 'command',
    spec: {
      schema: 'qinglong/command@v1',
      config: {
        command: { kind: 'argv', file: '/bin/true', args: [] },
        environment: [{ name: 'TOKEN', kind: 'secret', secretRef: SECRET }],
        environmentBundleRef: BUNDLE,
      },
    },
    labels: {},
    enabled: true,
    ...task,
  };
}

/** A command that asks for no secret. */
export function plainSpec(config: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    schema: 'qinglong/command@v1',
    config: { command: { kind: 'argv', file: '/bin/true', args: [] }, environment: [], ...config },
  };
}

/** A task that only one worker may run, by the label that operators gave it. */
export function onlyFor(workerId: string): Partial<PublishTaskRequest> {
  const { spec } = publication();
  const config = { ...(spec.config as object), placement: { required: { labels: { worker: workerId } } } };
  return { spec: { ...spec, config } };
}
