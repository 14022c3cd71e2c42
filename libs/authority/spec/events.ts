import type { AttemptStatus, WorkerStatus } from '@valise/contracts/wire';
import { decideDelivery } from '../src/deliveries/delivery.js';
import type { Claimant } from '../src/leases/holder.js';
import {
  assertMayClaim,
  assertRecovers,
  decideRenewal,
  isClaimable,
  takesWork,
} from '../src/leases/lease.js';
import { assertRetryable, decideCancellation } from '../src/runs/run.js';
import {
  assertHeartbeat,
  decideRegistration,
  decideTransition,
  type Session,
  type WorkerSessionKey,
} from '../src/sessions/session.js';
import { decideExpiry, isOverdue } from '../src/sweeper/expiry.js';
import { decideRunning, decideStartFailure, decideStarting } from '../src/attempts/activation.js';
import { decideCompletion } from '../src/attempts/completion.js';
import type { Execution } from '../src/attempts/execution.js';
import {
  claim,
  claimant,
  completionRequest,
  EARLIER_ID,
  execution,
  EXPIRES_AT_MS,
  fence,
  key,
  LATER_ID,
  NOW_MS,
  plan,
  renewalRequest,
  runningRequest,
  secretsRequest,
  session,
  SESSION_ID,
  unregistered,
  type Fence,
} from './facts.js';
import type { AttemptEvent, Circumstance, SessionEvent, WorkerEvent } from './table.js';

const MAX_CLAIMS = 5;
const RESPONSE_DEADLINE_MS = 5000;
const EXPIRY = { responseDeadlineMs: RESPONSE_DEADLINE_MS, maxClaims: MAX_CLAIMS };
const DELIVERY = { responseDeadlineMs: RESPONSE_DEADLINE_MS, maxAuthorisations: 8, maxCustodyFailures: 5 };

/** Who brings an event about an attempt, and what is known of them. */
interface Given {
  readonly execution: Execution;
  readonly key: WorkerSessionKey;
  readonly fence: Fence;
  readonly claimant: Claimant;
}

/** The same event under the circumstance. */
export function under(circumstance: Circumstance, status: AttemptStatus): Given {
  const given: Given = { execution: execution(status), key, fence, claimant };
  const { run, attempt } = given.execution;
  switch (circumstance) {
    case 'holder':
    case 'by itself':
      return given;
    case 'cancellation requested':
    case 'stop requested':
    case 'secrets authorised':
    case 'delivery under way':
      return { ...given, execution: execution(status, circumstance) };
    case 'older version':
      return { ...given, fence: { ...fence, expectedLeaseVersion: 0 } };
    case 'version that never was':
      return { ...given, fence: { ...fence, expectedLeaseVersion: 2 } };
    case 'lease expired':
      return { ...given, claimant: { ...claimant, nowMs: EXPIRES_AT_MS } };
    case 'former holder':
      return {
        ...given,
        key: { ...key, sessionId: LATER_ID },
        fence: { ...fence, workerGeneration: 2 },
        claimant: { ...claimant, sessionId: LATER_ID, sessionGeneration: 2 },
      };
    case 'revoked worker':
      return { ...given, claimant: { ...claimant, workerStatus: 'revoked' } };
    case 'worker that nobody put':
      return { ...given, claimant: { ...claimant, workerStatus: null } };
    case 'another worker':
      return { ...given, key: { ...key, workerId: 'x' } };
    case 'another token':
      return { ...given, fence: { ...fence, leaseToken: 'x'.repeat(43) } };
    case 'another offer':
      return { ...given, fence: { ...fence, offerId: 'x' }, claimant: { ...claimant, claim: null } };
    case 'a later attempt exists':
      return { ...given, execution: { ...given.execution, run: { ...run, newestAttemptNumber: 2 } } };
    case 'fifth claim':
      return { ...given, execution: { ...given.execution, attempt: { ...attempt, claims: MAX_CLAIMS } } };
  }
}

export const ATTEMPT_EVENTS: Readonly<Record<AttemptEvent, (given: Given) => unknown>> = {
  claim: (given) => isClaimable(given.execution),
  'claim repeated': (given) => {
    // The service looks the claim up by the offer's id; of another offer it finds another worker's, or none.
    const found = given.claimant.claim ?? { ...claim, workerId: 'x' };
    assertRecovers(given.key, given.fence.leaseToken, found, given.execution);
  },
  starting: (given) => decideStarting(given.key, given.fence, given.execution, given.claimant),
  secrets,
  'start-failure': (given) =>
    decideStartFailure(given.key, given.fence, given.execution, given.claimant, MAX_CLAIMS),
  'start-failure, nothing started': (given) => {
    const vouched = { ...given.fence, reasonCode: 'worker_restarted' as const };
    return decideStartFailure(given.key, vouched, given.execution, given.claimant, MAX_CLAIMS);
  },
  running: (given) => decideRunning(given.key, runningRequest(given.fence), given.execution, given.claimant),
  renew: (given) => decideRenewal(given.key, renewalRequest(given.fence), given.execution, given.claimant),
  'completion, failed': (given) => complete(given, 'failed', 1),
  'completion, cancelled': (given) => complete(given, 'cancelled', 143),
  'completion, timed out': (given) => complete(given, 'timed_out', 143),
  'completion, cancelled with exit 0': (given) => complete(given, 'cancelled', 0),
  cancel: (given) => decideCancellation(given.execution),
  retry: (given) => {
    assertRetryable(given.execution, { mutationId: 'm' });
  },
  'retry, previous may still run': (given) => {
    assertRetryable(given.execution, { mutationId: 'm', previousMayStillRun: true });
  },
  'expiry swept': (given) => sweep(given, EXPIRES_AT_MS, true),
  'expiry swept, a plan without references': (given) => sweep(given, EXPIRES_AT_MS, false),
  'swept before expiry': (given) => sweep(given, EXPIRES_AT_MS - 1, true),
  'deadline and grace passed': (given) => isOverdue(given.execution, NOW_MS, 10),
  'deadline passed': (given) => isOverdue(given.execution, NOW_MS, 11),
};

function secrets({ execution: { run, attempt, lease }, key: caller, fence: shown, claimant: known }: Given) {
  const { workerStatus: status, sessionId, sessionGeneration: generation, nowMs } = known;
  const facts = {
    nowMs,
    worker: status && { status, projects: ['p'] },
    session: sessionId === null ? null : { sessionId, generation, expiresAtMs: 1000 },
    target: { run, attempt, lease, plan },
  };
  return decideDelivery({ ...caller, certificateSerial: '01' }, secretsRequest(shown), facts, DELIVERY);
}

function complete(given: Given, outcome: 'failed' | 'cancelled' | 'timed_out', exitCode: number) {
  const request = completionRequest(given.fence, outcome, exitCode);
  return decideCompletion(given.key, request, given.execution, given.claimant);
}

function sweep(given: Given, nowMs: number, hasReferences: boolean) {
  return decideExpiry(given.execution, { nowMs, hasReferences }, EXPIRY);
}

const FUTURE_ID = 'ffffffff-0000-7000-8000-000000000001';
const own = { generation: 1, expectedVersion: 3 };
const older = { ...own, expectedVersion: 2 };
const future = { ...own, expectedVersion: 4 };
const foreign = { ...own, generation: 2 };

function register(given: Session, sessionId: string, change: { hash?: string; nowMs?: number } = {}) {
  const capabilitiesHash = change.hash ?? session('online').capabilitiesHash ?? '';
  return decideRegistration('active', given, sessionId, { capabilitiesHash }, change.nowMs ?? REGISTERED_MS);
}

/** About when the session ids of these facts were made. */
const REGISTERED_MS = Number.parseInt(SESSION_ID.slice(0, 8) + SESSION_ID.slice(9, 13), 16);

const leave =
  (status: 'draining' | 'offline', request: typeof own, sessionId = SESSION_ID) =>
  (given: Session) =>
    decideTransition(given, sessionId, { ...request, status });

function askForWork(
  given: Session | null,
  workerStatus: WorkerStatus | null,
  change: { sessionId?: string; generation?: number; nowMs?: number } = {},
): string {
  const asking = { ...key, sessionId: change.sessionId ?? SESSION_ID };
  assertMayClaim(workerStatus, given, asking, change.generation ?? 1, change.nowMs ?? NOW_MS);
  return takesWork(workerStatus, given) ? 'takes work' : 'idle';
}

export const SESSION_EVENTS: Readonly<Record<SessionEvent, (given: Session) => unknown>> = {
  'register, the newest id': (given) => register(given, SESSION_ID),
  'register, the newest id, expired': (given) => register({ ...given, expiresAtMs: 0 }, SESSION_ID),
  'register, the newest id, other capabilities': (given) => register(given, SESSION_ID, { hash: 'x' }),
  'register, a larger id': (given) => register(given, LATER_ID),
  'register, a larger id, other capabilities': (given) => register(given, LATER_ID, { hash: 'x' }),
  'register, an id that sorts before': (given) => register(given, EARLIER_ID),
  'register, an id of the day after tomorrow': (given) => register(given, FUTURE_ID),
  heartbeat: (given) => {
    assertHeartbeat(given, SESSION_ID, own);
  },
  'heartbeat, expired': (given) => {
    assertHeartbeat({ ...given, expiresAtMs: 0 }, SESSION_ID, own);
  },
  'heartbeat, older version': (given) => {
    assertHeartbeat(given, SESSION_ID, older);
  },
  'heartbeat, version that never was': (given) => {
    assertHeartbeat(given, SESSION_ID, future);
  },
  'heartbeat, another generation': (given) => {
    assertHeartbeat(given, SESSION_ID, foreign);
  },
  'heartbeat, another session': (given) => {
    assertHeartbeat(given, LATER_ID, own);
  },
  draining: leave('draining', own),
  'draining, older version': leave('draining', older),
  'draining, version that never was': leave('draining', future),
  'draining, another generation': leave('draining', foreign),
  'draining, another session': leave('draining', own, LATER_ID),
  offline: leave('offline', own),
  'offline, older version': leave('offline', older),
  'offline, version that never was': leave('offline', future),
  'offline, another generation': leave('offline', foreign),
  'offline, another session': leave('offline', own, LATER_ID),
  claim: (given) => askForWork(given, 'active'),
  'claim, expired': (given) => askForWork(given, 'active', { nowMs: EXPIRES_AT_MS }),
  'claim, another generation': (given) => askForWork(given, 'active', { generation: 2 }),
  'claim, another session': (given) => askForWork(given, 'active', { sessionId: LATER_ID }),
};

const by = (status: WorkerStatus | null, attempt: AttemptStatus): Given => ({
  ...under('holder', attempt),
  claimant: { ...claimant, workerStatus: status },
});
export const WORKER_EVENTS: Readonly<Record<WorkerEvent, (status: WorkerStatus | null) => unknown>> = {
  register: (status) =>
    decideRegistration(status, status && unregistered, SESSION_ID, { capabilitiesHash: 'x' }, REGISTERED_MS),
  claim: (status) => askForWork(status && session('online'), status),
  starting: (status) => ATTEMPT_EVENTS.starting(by(status, 'claimed')),
  secrets: (status) => ATTEMPT_EVENTS.secrets(by(status, 'starting')),
  running: (status) => ATTEMPT_EVENTS.running(by(status, 'starting')),
  renew: (status) => ATTEMPT_EVENTS.renew(by(status, 'running')),
  'start-failure': (status) => ATTEMPT_EVENTS['start-failure'](by(status, 'starting')),
  completion: (status) => ATTEMPT_EVENTS['completion, failed'](by(status, 'running')),
};
