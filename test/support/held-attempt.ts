import { randomBytes } from 'node:crypto';
import { logArtifactId, sha256Hex } from '@valise/contracts/documents';
import {
  ARTIFACT_UPLOAD_SCHEMA,
  COMPLETION_SCHEMA,
  LEASE_CONTROL_SCHEMA,
  SECRET_DELIVERY_SCHEMA,
  type ArtifactUploadHeader,
  type CompletionRequest,
  type LeaseControlRequest,
  type LeaseFence,
  type Offer,
  type RunningRequest,
  type SecretDeliveryRequest,
} from '@valise/contracts/wire';
import type { Fields } from '../../apps/cli/src/management/management-client.js';
import { BUNDLE, SECRET } from './published-task.js';
import type { TestWorker } from './worker-session.js';

/** A claimed attempt, as its worker knows it. */
export interface Held {
  readonly worker: TestWorker;
  readonly offer: Offer;
  readonly fence: Fields<LeaseFence>;
}

export const newLeaseToken = (): string => randomBytes(32).toString('base64url');

export function fenceOf(worker: TestWorker, offer: Offer, leaseToken: string): Fields<LeaseFence> {
  return {
    runId: offer.candidate.runId,
    attemptId: offer.candidate.attemptId,
    workerGeneration: worker.generation,
    offerId: offer.offerId,
    leaseGeneration: offer.lease.leaseGeneration,
    leaseToken,
    expectedLeaseVersion: offer.lease.version,
  };
}

export function renewal({ fence, offer }: Held): Fields<LeaseControlRequest> {
  return { ...fence, schema: LEASE_CONTROL_SCHEMA, projectId: offer.candidate.projectId };
}

const callbackTokenDigest = sha256Hex('callback token');

export function running(held: Held): Fields<RunningRequest> {
  return {
    ...held.fence,
    executorHandle: 'slot 0 pid 42',
    logArtifactId: artifactOf(held),
    callbackSequence: 1,
    callbackTokenDigest,
  };
}

export function completion(held: Held, change: Partial<CompletionRequest> = {}): Fields<CompletionRequest> {
  return {
    ...held.fence,
    schema: COMPLETION_SCHEMA,
    callbackSequence: 2,
    callbackTokenDigest,
    result: { outcome: 'succeeded', startedAtMs: 1, finishedAtMs: 2, exitCode: 0 },
    artifact: { logArtifactId: artifactOf(held), byteLength: 0, sha256: sha256Hex(''), truncated: false },
    ...change,
  };
}

export function artifactOf({ fence, offer }: Held): string {
  const { runId, attemptId, offerId } = fence;
  return logArtifactId({ projectId: offer.candidate.projectId, runId, attemptId, offerId });
}

export function upload(held: Held, byteLength: number): Fields<ArtifactUploadHeader> {
  return {
    ...held.fence,
    schema: ARTIFACT_UPLOAD_SCHEMA,
    logArtifactId: artifactOf(held),
    byteLength,
    truncated: false,
  };
}

export function delivery(
  { fence, offer }: Held,
  change: Partial<SecretDeliveryRequest> = {},
): Fields<SecretDeliveryRequest> {
  return {
    ...fence,
    schema: SECRET_DELIVERY_SCHEMA,
    projectId: offer.candidate.projectId,
    taskId: offer.candidate.taskId,
    taskRevision: offer.candidate.taskRevision,
    executionDigest: offer.executionDigest,
    secretRefs: [SECRET],
    environmentBundleRefs: [BUNDLE],
    ...change,
  };
}
