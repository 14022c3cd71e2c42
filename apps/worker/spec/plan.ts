import { randomUUID } from 'node:crypto';
import {
  createExecutionRevision,
  createSecretReference,
  createTaskRevisionRef,
  type ExecutionPlan,
  type ExecutionRevision,
} from '@valise/contracts/documents';
import type { Offer } from '@valise/contracts/wire';
import type { Message } from '../src/ingress/message.js';

export const PROJECT = 'project-1';
const DIGEST = 'ab'.repeat(32);

export const reference = (name: string): string =>
  createSecretReference({ projectId: PROJECT, name, version: 1 });

/** A plan that runs `script` in a shell, unless told otherwise. */
export function plan(script: string, more: Partial<ExecutionPlan> = {}): ExecutionRevision {
  return createExecutionRevision({
    projectId: PROJECT,
    taskId: 'task-1',
    taskRevision: createTaskRevisionRef(1, DIGEST),
    sourceRevision: 1,
    sourceContentDigest: DIGEST,
    executorType: 'remote_worker',
    planSchema: 'qinglong/command-execution@v1',
    command: { kind: 'shell', command: script },
    environment: [],
    createdAtMs: 1,
    ...more,
  });
}

/** What control says of one claimed attempt. */
export function offerOf(
  revision: ExecutionRevision,
  claim: { offerId: string; workerId: string; sessionId: string; generation: number },
): Message<Offer> {
  const { projectId, taskId, taskRevision, contentDigest } = revision;
  const now = Date.now();
  return {
    offerId: claim.offerId,
    deliveryKind: 'new_claim',
    executionDigest: contentDigest,
    candidate: {
      runId: randomUUID(),
      attemptId: randomUUID(),
      projectId,
      taskId,
      taskRevision,
      priority: 0,
      queuedAtMs: now,
      attemptCreatedAtMs: now,
      attemptNumber: 1,
      executorType: 'remote_worker',
    },
    worker: { workerId: claim.workerId, sessionId: claim.sessionId, generation: claim.generation },
    lease: {
      version: 1,
      leaseGeneration: 1,
      acquiredAtMs: now,
      renewedAtMs: now,
      expiresAtMs: now + 30_000,
      updatedAtMs: now,
    },
    executionRevision: JSON.parse(JSON.stringify(revision)) as Record<string, unknown>,
    placementScore: 0,
  };
}
