import { timingSafeEqual } from 'node:crypto';
import { leaseTokenDigest } from '@valise/contracts/documents';
import type { LeaseFence, WorkerStatus } from '@valise/contracts/wire';
import type { Lease } from '../attempts/execution.js';
import type { WorkerSessionKey } from '../sessions/session.js';

/** One row of the append-only claims: which worker took which generation of which attempt's lease. */
export interface Claim {
  readonly offerId: string;
  readonly attemptId: string;
  readonly leaseGeneration: number;
  readonly workerId: string;
  readonly sessionId: string;
  readonly workerGeneration: number;
  readonly tokenDigest: string;
  readonly placementScore: number;
}

/** What is known of a caller that shows a lease fence. */
export interface Claimant {
  readonly nowMs: number;
  /** null when no operator ever put the worker. */
  readonly workerStatus: WorkerStatus | null;
  /** The worker's newest session. */
  readonly sessionId: string | null;
  readonly sessionGeneration: number;
  /** The claim of the offer the caller names, whoever made it. */
  readonly claim: Claim | null;
}

/**
 * `holder`: the live lease is the caller's, in the session it has. `former_holder`: it is the same worker's, under a
 * later session, and nobody moved generation or state. `past`: the caller did claim, but that claim is over.
 * `stranger`: none of these.
 */
export type Standing = 'holder' | 'former_holder' | 'past' | 'stranger';

/** Whether the caller made the claim that it names, and shows that claim's token. */
export function isOwnClaim(key: WorkerSessionKey, fence: LeaseFence, claim: Claim | null): claim is Claim {
  return (
    claim?.attemptId === fence.attemptId &&
    claim.workerId === key.workerId &&
    claim.leaseGeneration === fence.leaseGeneration &&
    sameToken(claim.tokenDigest, fence.leaseToken)
  );
}

/** Where the caller stands to the lease. Whether the lease has expired is another question. */
export function standing(
  key: WorkerSessionKey,
  fence: LeaseFence,
  lease: Lease,
  claimant: Claimant,
): Standing {
  const { claim } = claimant;
  if (!isOwnClaim(key, fence, claim)) return 'stranger';
  const sameSession = key.sessionId === claim.sessionId && fence.workerGeneration === claim.workerGeneration;
  // Under a later session the worker may name the generation of the claim or of that session.
  const laterSession =
    key.sessionId === claimant.sessionId &&
    claimant.sessionGeneration > claim.workerGeneration &&
    (fence.workerGeneration === claimant.sessionGeneration ||
      fence.workerGeneration === claim.workerGeneration);
  if (!sameSession && !laterSession) return 'stranger';
  const live =
    lease.state === 'leased' &&
    lease.generation === claim.leaseGeneration &&
    lease.offerId === claim.offerId &&
    lease.tokenDigest === claim.tokenDigest;
  if (!live) return 'past';
  return sameSession ? 'holder' : 'former_holder';
}

/** Whether `token` is the one whose digest is kept, in the same time for every wrong one. */
export function sameToken(digest: string | null, token: string): boolean {
  if (digest === null) return false;
  const kept = Buffer.from(digest, 'hex');
  const shown = Buffer.from(leaseTokenDigest(token), 'hex');
  return kept.length === shown.length && timingSafeEqual(kept, shown);
}
