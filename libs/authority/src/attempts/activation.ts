import { logArtifactId } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import type { ReasonCode } from '@valise/contracts/failure';
import type {
  ActivationSnapshot,
  LeaseFence,
  RunningRequest,
  StartFailureRequest,
  StartingRequest,
} from '@valise/contracts/wire';
import { standing, type Claimant, type Standing } from '../leases/holder.js';
import type { WorkerSessionKey } from '../sessions/session.js';
import { isRevoked } from '../workers/worker.js';
import { ended, type Execution } from './execution.js';

export type Activation = 'apply' | 'already_starting' | 'already_running' | 'already_terminal';

/**
 * claimed → starting, by the holder of a lease that has not expired.
 * @throws ValiseError worker_activation_fenced
 */
export function decideStarting(
  key: WorkerSessionKey,
  request: StartingRequest,
  execution: Execution,
  claimant: Claimant,
): Activation {
  const held = assertActivates(key, request, execution, claimant);
  if (held === 'already_terminal') return held;
  if (held.attempt.status === 'running') return 'already_running';
  return held.attempt.status === 'starting' ? 'already_starting' : 'apply';
}

/**
 * starting → running, by the holder of a lease that has not expired. What the first acknowledgement said of the
 * process stands: a repeat says the same.
 * @throws ValiseError worker_activation_fenced
 */
export function decideRunning(
  key: WorkerSessionKey,
  request: RunningRequest,
  execution: Execution,
  claimant: Claimant,
): Activation {
  const held = assertActivates(key, request, execution, claimant);
  if (held === 'already_terminal') return held;
  assertOwnArtifact(request, held, request.logArtifactId);
  const { status, callbackTokenDigest, callbackSequence } = held.attempt;
  if (status === 'running') {
    const same =
      callbackTokenDigest === request.callbackTokenDigest && callbackSequence === request.callbackSequence;
    return same ? 'already_running' : fenced('callback');
  }
  return status === 'starting' ? 'apply' : fenced('not_starting');
}

/** What a start-failure does. `late`: nothing but a record of what was said. */
export type StartFailure =
  | { readonly kind: 'requeue' }
  | {
      readonly kind: 'end';
      readonly status: 'failed' | 'cancelled' | 'timed_out';
      readonly reason: ReasonCode | null;
    }
  | { readonly kind: 'repeat'; readonly status: 'applied' | 'already_terminal' }
  | { readonly kind: 'late' };

/** With one of these the worker vouches that nothing started. */
const NOTHING_STARTED: ReadonlySet<ReasonCode> = new Set([
  'lease_lost',
  'worker_restarted',
  'worker_shutdown',
]);

/**
 * claimed or starting → an end, or back to the queue where the worker vouches that nothing started. Holder and former
 * holder may say so, however long the lease has expired.
 * @throws ValiseError worker_activation_fenced
 */
export function decideStartFailure(
  key: WorkerSessionKey,
  request: StartFailureRequest,
  execution: Execution,
  claimant: Claimant,
  maxClaims: number,
): StartFailure {
  const { attempt, lease } = execution;
  const position = standing(key, request, lease, claimant);
  if (position === 'stranger') return fenced(position);
  if (position === 'past') {
    if (lease.generation !== request.leaseGeneration || attempt.decidedBy !== 'start_failure') {
      return { kind: 'late' };
    }
    return { kind: 'repeat', status: ended(attempt.status) ? 'already_terminal' : 'applied' };
  }
  if (isRevoked(claimant.workerStatus)) return { kind: 'late' };
  if (request.expectedLeaseVersion > lease.version) return fenced('version');
  if (attempt.status !== 'claimed' && attempt.status !== 'starting') return fenced('not_starting');
  const reason = request.reasonCode ?? null;
  return giveBack(execution, reason, maxClaims, reason !== null && NOTHING_STARTED.has(reason));
}

/**
 * What becomes of an attempt whose claim is over before its process ran: cancelled where that is requested, timed out
 * where that stop is, else back to the queue if nothing started and claims are left, else failed.
 */
export function giveBack(
  { run, attempt }: Execution,
  reason: ReasonCode | null,
  maxClaims: number,
  nothingStarted: boolean,
): Extract<StartFailure, { kind: 'requeue' | 'end' }> {
  if (run.cancelRequestedAtMs !== null) {
    return { kind: 'end', status: 'cancelled', reason: reason ?? 'stopped_by_operator' };
  }
  if (run.stopRequestedAtMs !== null) {
    return { kind: 'end', status: 'timed_out', reason: reason ?? 'stopped_by_timeout' };
  }
  if (!nothingStarted) return { kind: 'end', status: 'failed', reason };
  if (attempt.claims >= maxClaims) return { kind: 'end', status: 'failed', reason: 'worker_unavailable' };
  return { kind: 'requeue' };
}

/** What is true of the attempt and its run. */
export function snapshotOf({ run, attempt, lease }: Execution): ActivationSnapshot {
  return {
    runId: run.runId,
    attemptId: attempt.attemptId,
    runStatus: run.status,
    attemptStatus: attempt.status,
    leaseVersion: lease.version,
    leaseGeneration: lease.generation,
    callbackSequence: attempt.callbackSequence,
    ...(run.deadlineAtMs !== null && { deadlineAtMs: run.deadlineAtMs }),
    ...(attempt.startedAtMs !== null && { startedAtMs: attempt.startedAtMs }),
    ...(attempt.finishedAtMs !== null && { finishedAtMs: attempt.finishedAtMs }),
    ...(attempt.executorHandle !== null && { executorHandle: attempt.executorHandle }),
    ...(attempt.logArtifactId !== null && { logArtifactId: attempt.logArtifactId }),
    ...(attempt.reasonCode !== null && { errorCode: attempt.reasonCode }),
  };
}

/** The log of a claim has one name. @throws ValiseError invalid_worker_request */
export function assertOwnArtifact(fence: LeaseFence, { run }: Execution, artifactId: string): void {
  const { runId, attemptId, offerId } = fence;
  if (artifactId !== logArtifactId({ projectId: run.projectId, runId, attemptId, offerId })) {
    throw new ValiseError('invalid_worker_request', { field: 'logArtifactId', rule: 'claim' });
  }
}

/** Passes the live holder; a claim whose attempt has ended is told so. */
function assertActivates(
  key: WorkerSessionKey,
  request: LeaseFence,
  execution: Execution,
  claimant: Claimant,
): Execution | 'already_terminal' {
  const { attempt, lease } = execution;
  const position: Standing = standing(key, request, lease, claimant);
  if (position === 'past' && ended(attempt.status)) return 'already_terminal';
  if (position !== 'holder') return fenced(position);
  if (isRevoked(claimant.workerStatus)) return fenced('revoked');
  if (lease.expiresAtMs <= claimant.nowMs) return fenced('expired');
  if (request.expectedLeaseVersion > lease.version) return fenced('version');
  return execution;
}

function fenced(rule: string): never {
  throw new ValiseError('worker_activation_fenced', { rule });
}
