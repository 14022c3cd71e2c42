import { ValiseError } from '@valise/contracts/failure';
import type { RetryRunRequest } from '@valise/contracts/wire';
import { ended, type Execution } from '../attempts/execution.js';

/** What a cancellation does to a run with this newest attempt. */
export type Cancellation = 'end' | 'request' | 'nothing';

/** A queued attempt is cancelled at once; a claimed one is asked to stop; an ended one stays as it ended. */
export function decideCancellation({ run, attempt }: Execution): Cancellation {
  if (ended(attempt.status)) return 'nothing';
  if (attempt.status === 'queued') return 'end';
  return run.cancelRequestedAtMs === null ? 'request' : 'nothing';
}

const MAX_ATTEMPTS = 1024;

/**
 * Passes a run that has ended without success; a lost one only where the operator accepts that its previous attempt
 * may still run. @throws ValiseError run_not_retryable, run_may_still_run
 */
export function assertRetryable({ run }: Execution, request: RetryRunRequest): void {
  if (!ended(run.status) || run.status === 'succeeded' || run.newestAttemptNumber >= MAX_ATTEMPTS) {
    throw new ValiseError('run_not_retryable', { status: run.status });
  }
  if (run.status === 'lost' && request.previousMayStillRun !== true) {
    throw new ValiseError('run_may_still_run', { status: run.status });
  }
}
