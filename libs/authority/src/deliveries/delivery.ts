import type { SecretDeliveryRequest, WorkerStatus } from '@valise/contracts/wire';
import { ended, type Attempt, type Lease, type Run } from '../attempts/execution.js';
import { sameToken } from '../leases/holder.js';
import type { WorkerSessionKey } from '../sessions/session.js';
import { isRevoked, mayServe } from '../workers/worker.js';

/** The worker that asks, as its certificate and the path name it. */
export interface DeliveryCaller extends WorkerSessionKey {
  readonly certificateSerial: string;
}

/** Everything one statement reads for a delivery. */
export interface DeliveryFacts {
  readonly nowMs: number;
  /** The asking worker; null when no operator ever put it. */
  readonly worker: { readonly status: WorkerStatus; readonly projects: readonly string[] } | null;
  /** The asking worker's newest session; null when it never registered. */
  readonly session: {
    readonly sessionId: string;
    readonly generation: number;
    readonly expiresAtMs: number;
  } | null;
  /** The attempt that is asked for; null when there is none of that id. */
  readonly target: {
    readonly run: Run;
    readonly attempt: Pick<Attempt, 'attemptId' | 'attemptNumber' | 'status'>;
    readonly lease: Lease;
    readonly plan: {
      readonly contentDigest: string;
      readonly secretRefs: readonly string[];
      readonly environmentBundleRefs: readonly string[];
    };
  } | null;
}

/** Why a delivery was denied: told to operators, never to workers. */
export const DENIALS = [
  'worker_unknown',
  'worker_revoked',
  'attempt_unknown',
  'run_mismatch',
  'project_mismatch',
  'project_not_allowed',
  'task_mismatch',
  'session_mismatch',
  'session_expired',
  'worker_generation_mismatch',
  'lease_not_held',
  'lease_generation_mismatch',
  'offer_mismatch',
  'token_mismatch',
  'attempt_not_starting',
  'attempt_not_newest',
  'stop_requested',
  'lease_expired',
  'lease_version_mismatch',
  'execution_digest_mismatch',
  'secret_scope_mismatch',
  'lease_moved',
  'delivery_budget_exhausted',
] as const;

export type Denial = (typeof DENIALS)[number];

export type DeliveryVerdict =
  | { readonly kind: 'authorise' }
  | { readonly kind: 'deny'; readonly denial: Denial }
  /** The claim's last delivery is still on its way. */
  | { readonly kind: 'busy'; readonly retryAfterMs: number };

export interface DeliveryLimits {
  readonly responseDeadlineMs: number;
  readonly maxAuthorisations: number;
  readonly maxCustodyFailures: number;
}

/**
 * Whether the caller may have the material of the attempt now. The conditional write decides once more what can have
 * moved since the facts were read.
 */
export function decideDelivery(
  caller: DeliveryCaller,
  request: SecretDeliveryRequest,
  facts: DeliveryFacts,
  limits: DeliveryLimits,
): DeliveryVerdict {
  const denial = firstDenial(caller, request, facts);
  if (denial) return { kind: 'deny', denial };
  const lease = facts.target?.lease;
  const openForMs =
    lease?.openSinceMs === null || lease === undefined ? Infinity : facts.nowMs - lease.openSinceMs;
  if (openForMs < limits.responseDeadlineMs) {
    return { kind: 'busy', retryAfterMs: Math.max(1, limits.responseDeadlineMs - openForMs) };
  }
  const isSpent =
    (lease?.authorisations ?? 0) >= limits.maxAuthorisations ||
    (lease?.custodyFailures ?? 0) >= limits.maxCustodyFailures;
  if (isSpent) {
    return { kind: 'deny', denial: 'delivery_budget_exhausted' };
  }
  return { kind: 'authorise' };
}

function firstDenial(
  caller: DeliveryCaller,
  request: SecretDeliveryRequest,
  { nowMs, worker, session, target }: DeliveryFacts,
): Denial | null {
  if (!worker) return 'worker_unknown';
  if (isRevoked(worker.status)) return 'worker_revoked';
  if (!target) return 'attempt_unknown';
  const { run, attempt, lease, plan } = target;
  if (run.runId !== request.runId) return 'run_mismatch';
  if (run.projectId !== request.projectId) return 'project_mismatch';
  if (!mayServe(worker, run.projectId)) return 'project_not_allowed';
  if (run.taskId !== request.taskId || run.taskRevision !== request.taskRevision) return 'task_mismatch';
  if (session?.sessionId !== caller.sessionId) return 'session_mismatch';
  if (session.generation !== request.workerGeneration) return 'worker_generation_mismatch';
  if (session.expiresAtMs <= nowMs) return 'session_expired';
  const held =
    lease.state === 'leased' &&
    lease.workerId === caller.workerId &&
    lease.sessionId === caller.sessionId &&
    lease.workerGeneration === request.workerGeneration;
  if (!held) return 'lease_not_held';
  if (lease.generation !== request.leaseGeneration) return 'lease_generation_mismatch';
  if (lease.offerId !== request.offerId) return 'offer_mismatch';
  if (!sameToken(lease.tokenDigest, request.leaseToken)) return 'token_mismatch';
  if (attempt.status !== 'starting' || ended(run.status)) return 'attempt_not_starting';
  if (run.newestAttemptNumber !== attempt.attemptNumber) return 'attempt_not_newest';
  if (run.cancelRequestedAtMs !== null || run.stopRequestedAtMs !== null) return 'stop_requested';
  if (lease.expiresAtMs <= nowMs) return 'lease_expired';
  if (lease.version !== request.expectedLeaseVersion) return 'lease_version_mismatch';
  if (plan.contentDigest !== request.executionDigest) return 'execution_digest_mismatch';
  const exact =
    sameList(plan.secretRefs, request.secretRefs) &&
    sameList(plan.environmentBundleRefs, request.environmentBundleRefs);
  return exact ? null : 'secret_scope_mismatch';
}

/** The same texts in the same order. */
function sameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}
