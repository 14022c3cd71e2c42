import { ValiseError } from '@valise/contracts/failure';
import type { LeaseControlRequest, StopReason, WorkerStatus } from '@valise/contracts/wire';
import { ended, type Execution, type Run } from '../attempts/execution.js';
import type { Session, WorkerSessionKey } from '../sessions/session.js';
import { isRevoked } from '../workers/worker.js';
import { sameToken, standing, type Claim, type Claimant } from './holder.js';

/** Why the process shall stop, or null. A cancellation by an operator comes before a timeout. */
export function stopReason(run: Run): StopReason | null {
  if (run.cancelRequestedAtMs !== null) return 'user';
  return run.stopRequestedAtMs !== null ? 'timeout' : null;
}

export type Renewal =
  { readonly kind: 'renew'; readonly stop: StopReason | null } | { readonly kind: 'terminal' };

/**
 * Whether the holder's lease lives on. An expired lease is never renewed, and no version that was ever the lease's is
 * too old: a lost answer costs nothing.
 * @throws ValiseError worker_lease_control_fenced
 */
export function decideRenewal(
  key: WorkerSessionKey,
  request: LeaseControlRequest,
  execution: Execution,
  claimant: Claimant,
): Renewal {
  const fenced = (rule: string): never => {
    throw new ValiseError('worker_lease_control_fenced', { rule });
  };
  if (execution.run.projectId !== request.projectId) return fenced('stranger');
  const { attempt, lease, run } = execution;
  const position = standing(key, request, lease, claimant);
  if (position === 'stranger' || position === 'former_holder') return fenced(position);
  if (position === 'past') return ended(attempt.status) ? { kind: 'terminal' } : fenced('past');
  if (isRevoked(claimant.workerStatus)) return fenced('revoked');
  if (lease.expiresAtMs <= claimant.nowMs) return fenced('expired');
  if (request.expectedLeaseVersion > lease.version) return fenced('version');
  return { kind: 'renew', stop: stopReason(run) };
}

/**
 * Passes a worker that may ask for work at all: not revoked, in its newest session, which has not ended.
 * @throws ValiseError worker_identity_mismatch, worker_session_fenced
 */
export function assertMayClaim(
  workerStatus: WorkerStatus | null,
  session: Session | null,
  key: WorkerSessionKey,
  workerGeneration: number,
  nowMs: number,
): asserts session is Session {
  if (isRevoked(workerStatus) || !session) {
    throw new ValiseError('worker_identity_mismatch', { rule: 'registry' });
  }
  const fenced = (rule: string): never => {
    throw new ValiseError('worker_session_fenced', { rule });
  };
  if (session.sessionId !== key.sessionId) fenced('replaced');
  if (session.generation !== workerGeneration) fenced('generation');
  if (session.status === 'offline') fenced('offline');
  if (session.expiresAtMs <= nowMs) fenced('expired');
}

/** Whether a worker that may ask is given anything new: neither an operator nor its own session lets it drain. */
export function takesWork(workerStatus: WorkerStatus | null, session: Session): boolean {
  return workerStatus === 'active' && session.status === 'online';
}

/** Whether the caller made the claim of the offer it repeats, with the same token. */
export function isOwnOffer(key: WorkerSessionKey, leaseToken: string, claim: Claim): boolean {
  return claim.workerId === key.workerId && sameToken(claim.tokenDigest, leaseToken);
}

/**
 * Passes an offer that claimed before and still holds what it claimed, so that its answer can be given again.
 * @throws ValiseError worker_offer_fenced
 */
export function assertRecovers(
  key: WorkerSessionKey,
  leaseToken: string,
  claim: Claim,
  execution: Execution | null,
): asserts execution is Execution {
  const lease = execution?.lease;
  const holds =
    isOwnOffer(key, leaseToken, claim) &&
    lease?.state === 'leased' &&
    lease.offerId === claim.offerId &&
    lease.generation === claim.leaseGeneration;
  if (!holds) throw new ValiseError('worker_offer_fenced', { rule: 'claimed_before' });
}

/** Whether the locked execution may be claimed: still queued, its lease nobody's, no cancellation requested. */
export function isClaimable(execution: Execution): boolean {
  const { run, attempt, lease } = execution;
  return (
    attempt.status === 'queued' &&
    run.status === 'queued' &&
    run.newestAttemptNumber === attempt.attemptNumber &&
    run.cancelRequestedAtMs === null &&
    lease.state !== 'leased'
  );
}
