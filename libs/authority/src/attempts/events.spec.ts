import { leaseTokenDigest, logArtifactId, sha256Hex } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import {
  ATTEMPT_STATUSES,
  COMPLETION_SCHEMA,
  LEASE_CONTROL_SCHEMA,
  type AttemptStatus,
  type CompletionRequest,
} from '@valise/contracts/wire';
import type { Claim, Claimant } from '../leases/holder.js';
import { decideRenewal } from '../leases/lease.js';
import { assertRetryable, decideCancellation } from '../runs/run.js';
import { decideExpiry, isOverdue } from '../sweeper/expiry.js';
import { decideRunning, decideStartFailure, decideStarting } from './activation.js';
import { decideCompletion } from './completion.js';
import { ended, type Execution } from './execution.js';

const TOKEN = 't'.repeat(43);
const key = { workerId: 'w', sessionId: '01890000-0000-7000-8000-000000000001' };
const fence = {
  runId: 'r',
  attemptId: 'a',
  workerGeneration: 1,
  offerId: 'o',
  leaseGeneration: 1,
  leaseToken: TOKEN,
  expectedLeaseVersion: 1,
};
const claim: Claim = {
  offerId: 'o',
  attemptId: 'a',
  leaseGeneration: 1,
  workerId: 'w',
  sessionId: key.sessionId,
  workerGeneration: 1,
  tokenDigest: leaseTokenDigest(TOKEN),
  placementScore: 0,
};
const claimant: Claimant = {
  nowMs: 50,
  workerStatus: 'active',
  sessionId: key.sessionId,
  sessionGeneration: 1,
  claim,
};
const callbackTokenDigest = sha256Hex('callback');
const artifactId = logArtifactId({ projectId: 'p', runId: 'r', attemptId: 'a', offerId: 'o' });
const runningRequest = {
  ...fence,
  executorHandle: 'h',
  logArtifactId: artifactId,
  callbackSequence: 1,
  callbackTokenDigest,
};
const completionRequest: CompletionRequest = {
  ...fence,
  schema: COMPLETION_SCHEMA,
  callbackSequence: 2,
  callbackTokenDigest,
  result: { outcome: 'failed', startedAtMs: 0, finishedAtMs: 1, exitCode: 1 },
  artifact: { logArtifactId: artifactId, byteLength: 0, sha256: sha256Hex(''), truncated: false },
};
const renewal = { ...fence, schema: LEASE_CONTROL_SCHEMA, projectId: 'p' } as const;
const LIMITS = { responseDeadlineMs: 5000, maxClaims: 5 };

/** An attempt in the given state, as it gets there when its first claim does. */
function execution(
  status: AttemptStatus,
  change: Partial<Record<'cancel' | 'stop', boolean>> = {},
): Execution {
  const over = ended(status);
  const runStatus = status === 'claimed' || status === 'starting' ? 'dispatching' : status;
  return {
    run: {
      runId: 'r',
      projectId: 'p',
      taskId: 't',
      taskRevision: 'qltd:v1:1:0',
      status: runStatus,
      priority: 0,
      newestAttemptNumber: 1,
      cancelRequestedAtMs: change.cancel ? 10 : null,
      stopRequestedAtMs: change.stop ? 10 : null,
      deadlineAtMs: status === 'starting' || status === 'running' ? 40 : null,
    },
    attempt: {
      attemptId: 'a',
      attemptNumber: 1,
      status,
      claims: 1,
      decidedBy: over ? 'sweeper' : null,
      executorHandle: null,
      logArtifactId: null,
      callbackSequence: status === 'running' ? 1 : 0,
      callbackTokenDigest: status === 'running' ? callbackTokenDigest : null,
      reasonCode: null,
      queuedAtMs: 0,
      createdAtMs: 0,
      startedAtMs: null,
      finishedAtMs: null,
    },
    lease: {
      state: over ? 'completed' : status === 'queued' ? 'released' : 'leased',
      generation: 1,
      version: 1,
      workerId: 'w',
      sessionId: key.sessionId,
      workerGeneration: 1,
      offerId: 'o',
      tokenDigest: claim.tokenDigest,
      acquiredAtMs: 0,
      renewedAtMs: 0,
      expiresAtMs: 100,
      updatedAtMs: 0,
      authorisations: 0,
      custodyFailures: 0,
      openSinceMs: null,
    },
  };
}

/** The verdict of a decision in one word. */
function word(decide: () => unknown): string {
  try {
    const verdict = decide();
    if (typeof verdict === 'string') return verdict;
    if (typeof verdict === 'boolean') return verdict ? 'yes' : 'no';
    if (verdict === undefined) return 'yes';
    const { kind, status } = verdict as { kind: string; status?: string };
    return status === undefined ? kind : `${kind} ${status}`;
  } catch (error) {
    if (error instanceof ValiseError) return error.code;
    throw error;
  }
}

const late: Claimant = { ...claimant, nowMs: 100 };
const EVENTS: Readonly<Record<string, (given: Execution) => unknown>> = {
  starting: (given) => decideStarting(key, fence, given, claimant),
  'starting, lease expired': (given) => decideStarting(key, fence, given, late),
  running: (given) => decideRunning(key, runningRequest, given, claimant),
  'start-failure': (given) => decideStartFailure(key, fence, given, claimant, 5),
  'start-failure, nothing started': (given) =>
    decideStartFailure(key, { ...fence, reasonCode: 'worker_restarted' }, given, claimant, 5),
  completion: (given) => decideCompletion(key, completionRequest, given, claimant),
  'completion, lease expired': (given) => decideCompletion(key, completionRequest, given, late),
  renewal: (given) => decideRenewal(key, renewal, given, claimant),
  'renewal, lease expired': (given) => decideRenewal(key, renewal, given, late),
  cancel: (given) => decideCancellation(given),
  retry: (given) => {
    assertRetryable(given, { mutationId: 'm' });
  },
  'expiry swept': (given) => decideExpiry(given, { nowMs: 100, hasReferences: true }, LIMITS),
  'expiry swept, no references': (given) => decideExpiry(given, { nowMs: 100, hasReferences: false }, LIMITS),
  'deadline passed': (given) => isOverdue(given, 50, 10),
};

const FENCED = 'worker_activation_fenced';
const RENEWAL_FENCED = 'worker_lease_control_fenced';
const COMPLETION_FENCED = 'worker_completion_fenced';
const NOT_RETRYABLE = 'run_not_retryable';

/** Event × state → verdict, for every event and every state. An ended attempt was ended by the sweeper here. */
const TABLE: Readonly<Record<keyof typeof EVENTS, Readonly<Record<AttemptStatus, string>>>> = {
  starting: row(FENCED, 'apply', 'already_starting', 'already_running', 'already_terminal'),
  'starting, lease expired': row(FENCED, FENCED, FENCED, FENCED, 'already_terminal'),
  running: row(FENCED, FENCED, 'apply', 'already_running', 'already_terminal'),
  'start-failure': row('late', 'end failed', 'end failed', FENCED, 'late'),
  'start-failure, nothing started': row('late', 'requeue', 'requeue', FENCED, 'late'),
  completion: row('late', COMPLETION_FENCED, 'end failed', 'end failed', 'late'),
  'completion, lease expired': row('late', COMPLETION_FENCED, 'end failed', 'end failed', 'late'),
  renewal: row(RENEWAL_FENCED, 'renew', 'renew', 'renew', 'terminal'),
  'renewal, lease expired': row(RENEWAL_FENCED, RENEWAL_FENCED, RENEWAL_FENCED, RENEWAL_FENCED, 'terminal'),
  cancel: row('end', 'request', 'request', 'request', 'nothing'),
  retry: { ...row(NOT_RETRYABLE, NOT_RETRYABLE, NOT_RETRYABLE, NOT_RETRYABLE, 'yes'), ...endings() },
  'expiry swept': row('none', 'requeue', 'requeue', 'end lost', 'none'),
  'expiry swept, no references': row('none', 'requeue', 'end lost', 'end lost', 'none'),
  'deadline passed': row('no', 'no', 'yes', 'yes', 'no'),
};

function row(
  queued: string,
  claimed: string,
  starting: string,
  running: string,
  over: string,
): Record<AttemptStatus, string> {
  const ends = { succeeded: over, failed: over, cancelled: over, timed_out: over, lost: over };
  return { queued, claimed, starting, running, ...ends };
}

function endings(): Pick<Record<AttemptStatus, string>, 'succeeded' | 'lost'> {
  return { succeeded: NOT_RETRYABLE, lost: 'run_may_still_run' };
}

const CELLS = Object.entries(TABLE).flatMap(([event, states]) =>
  ATTEMPT_STATUSES.map((status): [string, AttemptStatus, string] => [event, status, states[status]]),
);

describe('the table of events and states', () => {
  it.each(CELLS)('%s, attempt %s: %s', (event, status, verdict) => {
    const decide = EVENTS[event];
    expect(word(() => decide?.(execution(status)))).toBe(verdict);
  });

  it('has a row for every event', () => {
    expect(Object.keys(TABLE)).toEqual(Object.keys(EVENTS));
  });
});

const revoked: Claimant = { ...claimant, workerStatus: 'revoked' };
const former = { workerId: 'w', sessionId: '01890000-0000-7000-8000-000000000002' };
const inTime: Claimant = { ...claimant, sessionId: former.sessionId, sessionGeneration: 2 };
const underLater: Claimant = { ...inTime, nowMs: 100 };

describe('a revoked worker', () => {
  it.each<[string, () => unknown, string]>([
    ['starts', () => decideStarting(key, fence, execution('claimed'), revoked), FENCED],
    [
      'acknowledges running',
      () => decideRunning(key, runningRequest, execution('starting'), revoked),
      FENCED,
    ],
    ['renews', () => decideRenewal(key, renewal, execution('running'), revoked), RENEWAL_FENCED],
    ['fails to start', () => decideStartFailure(key, fence, execution('starting'), revoked, 5), 'late'],
    ['completes', () => decideCompletion(key, completionRequest, execution('running'), revoked), 'late'],
  ])('%s in vain', (_what, decide, verdict) => {
    expect(word(decide)).toBe(verdict);
  });
});

describe('a former holder', () => {
  it.each<[string, () => unknown, string]>([
    ['does not start', () => decideStarting(former, fence, execution('claimed'), inTime), FENCED],
    ['does not run', () => decideRunning(former, runningRequest, execution('starting'), inTime), FENCED],
    ['does not renew', () => decideRenewal(former, renewal, execution('running'), inTime), RENEWAL_FENCED],
    [
      'says that it failed to start',
      () => decideStartFailure(former, fence, execution('starting'), underLater, 5),
      'end failed',
    ],
    [
      'completes',
      () => decideCompletion(former, completionRequest, execution('running'), underLater),
      'end failed',
    ],
  ])('%s', (_what, decide, verdict) => {
    expect(word(decide)).toBe(verdict);
  });
});

describe('a version', () => {
  const older = { expectedLeaseVersion: 0 };
  const future = { expectedLeaseVersion: 2 };
  it.each<[string, (change: typeof older) => unknown, string, string]>([
    [
      'starting',
      (change) => decideStarting(key, { ...fence, ...change }, execution('claimed'), claimant),
      'apply',
      FENCED,
    ],
    [
      'running',
      (change) => decideRunning(key, { ...runningRequest, ...change }, execution('starting'), claimant),
      'apply',
      FENCED,
    ],
    [
      'start-failure',
      (change) => decideStartFailure(key, { ...fence, ...change }, execution('claimed'), claimant, 5),
      'end failed',
      FENCED,
    ],
    [
      'completion',
      (change) =>
        decideCompletion(key, Object.assign({}, completionRequest, change), execution('running'), claimant),
      'end failed',
      COMPLETION_FENCED,
    ],
    [
      'renewal',
      (change) => decideRenewal(key, { ...renewal, ...change }, execution('running'), claimant),
      'renew',
      RENEWAL_FENCED,
    ],
  ])('that was the lease’s once is good for %s, one that never was is not', (_what, decide, good, bad) => {
    expect(word(() => decide(older))).toBe(good);
    expect(word(() => decide(future))).toBe(bad);
  });
});

describe('what would be requeued', () => {
  const vouched = { ...fence, reasonCode: 'worker_shutdown' as const };
  it.each<[string, 'cancel' | 'stop', string]>([
    ['is cancelled where that is requested', 'cancel', 'end cancelled'],
    ['is timed out where that stop is', 'stop', 'end timed_out'],
  ])('%s', (_what, asked, verdict) => {
    const given = execution('claimed', { [asked]: true });
    expect(word(() => decideStartFailure(key, vouched, given, claimant, 5))).toBe(verdict);
    expect(word(() => decideExpiry(given, { nowMs: 100, hasReferences: true }, LIMITS))).toBe(verdict);
  });

  it('fails for want of a worker after its last claim', () => {
    const given = execution('claimed');
    const worn = { ...given, attempt: { ...given.attempt, claims: 5 } };
    expect(decideExpiry(worn, { nowMs: 100, hasReferences: true }, LIMITS)).toEqual({
      kind: 'end',
      status: 'failed',
      reason: 'worker_unavailable',
    });
  });
});

describe('an expired lease', () => {
  const delivered = (openSinceMs: number | null): Execution => {
    const given = execution('starting');
    return { ...given, lease: { ...given.lease, authorisations: 1, openSinceMs } };
  };
  it.each([
    ['waits while a delivery may be on its way', 100, 5099, 'wait'],
    ['is lost when the response deadline has passed without a word', 100, 5100, 'end lost'],
    ['is lost when something was delivered', null, 100, 'end lost'],
  ])('%s', (_what, openSinceMs, nowMs, verdict) => {
    expect(word(() => decideExpiry(delivered(openSinceMs), { nowMs, hasReferences: true }, LIMITS))).toBe(
      verdict,
    );
  });

  it('is expired at its last millisecond, not before', () => {
    const given = execution('claimed');
    expect(word(() => decideExpiry(given, { nowMs: 99, hasReferences: true }, LIMITS))).toBe('none');
    expect(word(() => decideExpiry(given, { nowMs: 100, hasReferences: true }, LIMITS))).toBe('requeue');
  });
});
