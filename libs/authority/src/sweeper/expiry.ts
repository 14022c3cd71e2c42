import { giveBack } from '../attempts/activation.js';
import type { Execution } from '../attempts/execution.js';
import type { ReasonCode } from '@valise/contracts/failure';

export type Expiry =
  | { readonly kind: 'none' }
  /** An authorised delivery may still be on its way. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'requeue' }
  | {
      readonly kind: 'end';
      readonly status: 'failed' | 'cancelled' | 'timed_out' | 'lost';
      readonly reason: ReasonCode | null;
    };

export interface ExpiryLimits {
  readonly responseDeadlineMs: number;
  readonly maxClaims: number;
}

/**
 * What becomes of an attempt whose lease has expired, as its lease stands under the lock. It goes back to the queue only
 * where nothing can have started: never past claimed, or starting without the secrets that its plan cannot start
 * without. Of anything else nobody knows, and it is lost.
 */
export function decideExpiry(
  execution: Execution,
  facts: { readonly nowMs: number; readonly hasReferences: boolean },
  limits: ExpiryLimits,
): Expiry {
  const { attempt, lease } = execution;
  if (lease.state !== 'leased' || lease.expiresAtMs > facts.nowMs) return { kind: 'none' };
  if (lease.openSinceMs !== null && facts.nowMs - lease.openSinceMs < limits.responseDeadlineMs) {
    return { kind: 'wait' };
  }
  const nothingStarted =
    attempt.status === 'claimed' ||
    (attempt.status === 'starting' && lease.authorisations === 0 && facts.hasReferences);
  if (!nothingStarted) return { kind: 'end', status: 'lost', reason: 'lease_lost' };
  return giveBack(execution, null, limits.maxClaims, true);
}

/** Whether the process shall be asked to stop, once, because its deadline passed `graceMs` ago. */
export function isOverdue({ run, attempt }: Execution, nowMs: number, graceMs: number): boolean {
  return (
    (attempt.status === 'starting' || attempt.status === 'running') &&
    run.stopRequestedAtMs === null &&
    run.deadlineAtMs !== null &&
    run.deadlineAtMs + graceMs <= nowMs
  );
}
