import { ValiseError } from '@valise/contracts/failure';
import type { ArtifactReceipt, CompletionRequest } from '@valise/contracts/wire';
import type { Artifact } from '../artifacts/artifact.js';
import { standing, type Claimant } from '../leases/holder.js';
import type { WorkerSessionKey } from '../sessions/session.js';
import { isRevoked } from '../workers/worker.js';
import { assertOwnArtifact } from './activation.js';
import type { Execution, Run } from './execution.js';

type EndStatus = 'succeeded' | 'failed' | 'cancelled' | 'timed_out';

/** What a completion does. `late`: nothing but a record of what was said. */
export type Completion =
  | { readonly kind: 'end'; readonly status: EndStatus }
  | { readonly kind: 'repeat' }
  | { readonly kind: 'late' };

/**
 * starting or running → an end, on the word of holder or former holder, however long the lease has expired. The
 * callback token is the one first seen: with `running`, or here when that never arrived.
 * @throws ValiseError worker_completion_fenced; invalid_worker_request for the name of another log
 */
export function decideCompletion(
  key: WorkerSessionKey,
  request: CompletionRequest,
  execution: Execution,
  claimant: Claimant,
): Completion {
  const { attempt, lease, run } = execution;
  const position = standing(key, request, lease, claimant);
  if (position === 'stranger') return fenced(position);
  assertOwnArtifact(request, execution, request.artifact.logArtifactId);
  if (position === 'past') {
    const ownWord =
      lease.generation === request.leaseGeneration &&
      attempt.decidedBy === 'completion' &&
      attempt.callbackTokenDigest === request.callbackTokenDigest;
    return { kind: ownWord ? 'repeat' : 'late' };
  }
  if (isRevoked(claimant.workerStatus)) return { kind: 'late' };
  if (request.expectedLeaseVersion > lease.version) return fenced('version');
  if (attempt.status !== 'starting' && attempt.status !== 'running') return fenced('not_started');
  const foreignCallback =
    attempt.status === 'running' &&
    (attempt.callbackTokenDigest !== request.callbackTokenDigest ||
      request.callbackSequence < attempt.callbackSequence);
  if (foreignCallback) return fenced('callback');
  return { kind: 'end', status: endStatus(run, request) };
}

/**
 * Whether the receipt is of what is stored, byte for byte. An empty log needs no bytes to be there. What a worker could
 * not store (its upload was fenced, the project had no room) is no reason to leave its attempt without an end.
 */
export function isReceiptOf(
  receipt: Pick<ArtifactReceipt, 'byteLength' | 'sha256'>,
  stored: Pick<Artifact, 'byteLength' | 'sha256'> | null,
): boolean {
  if (!stored) return receipt.byteLength === 0;
  return stored.byteLength === receipt.byteLength && stored.sha256 === receipt.sha256;
}

/** Exit 0 is a success, also after a stop; cancelled and timed out need that somebody asked for it. */
function endStatus(run: Run, { result }: CompletionRequest): EndStatus {
  switch (result.outcome) {
    case 'succeeded':
      return 'succeeded';
    case 'failed':
      return 'failed';
    case 'cancelled':
      if (result.exitCode === 0) return 'succeeded';
      return run.cancelRequestedAtMs === null ? 'failed' : 'cancelled';
    case 'timed_out':
      if (result.exitCode === 0) return 'succeeded';
      return run.stopRequestedAtMs === null ? 'failed' : 'timed_out';
  }
}

function fenced(rule: string): never {
  throw new ValiseError('worker_completion_fenced', { rule });
}
