import { leaseTokenDigest, logArtifactId, sha256Hex } from '@valise/contracts/documents';
import {
  COMPLETION_SCHEMA,
  LEASE_CONTROL_SCHEMA,
  SECRET_DELIVERY_SCHEMA,
  type AttemptStatus,
  type CompletionRequest,
  type LeaseControlRequest,
  type LeaseFence,
  type RunningRequest,
  type SecretDeliveryRequest,
  type SessionStatus,
} from '@valise/contracts/wire';
import { ended, type Execution } from '../src/attempts/execution.js';
import type { Claim, Claimant } from '../src/leases/holder.js';
import type { Session } from '../src/sessions/session.js';

/** Worker w claimed attempt a at time 0 and holds it until 100; it is 50 o'clock. */
export const TOKEN = 't'.repeat(43);
export const EARLIER_ID = '01890000-0000-7000-8000-000000000000';
export const SESSION_ID = '01890000-0000-7000-8000-000000000001';
export const LATER_ID = '01890000-0000-7000-8000-000000000002';
export const NOW_MS = 50;
export const EXPIRES_AT_MS = 100;

export const key = { workerId: 'w', sessionId: SESSION_ID };
/** A fence as plain data. */
export type Fence = { readonly [Field in keyof LeaseFence]: LeaseFence[Field] };

export const fence: Fence = {
  runId: 'r',
  attemptId: 'a',
  workerGeneration: 1,
  offerId: 'o',
  leaseGeneration: 1,
  leaseToken: TOKEN,
  expectedLeaseVersion: 1,
};
export const claim: Claim = {
  offerId: 'o',
  attemptId: 'a',
  leaseGeneration: 1,
  workerId: 'w',
  sessionId: SESSION_ID,
  workerGeneration: 1,
  tokenDigest: leaseTokenDigest(TOKEN),
  placementScore: 0,
};
export const claimant: Claimant = {
  nowMs: NOW_MS,
  workerStatus: 'active',
  sessionId: SESSION_ID,
  sessionGeneration: 1,
  claim,
};

const callbackTokenDigest = sha256Hex('callback');
const artifactId = logArtifactId({ projectId: 'p', runId: 'r', attemptId: 'a', offerId: 'o' });

export const runningRequest = (shown: Fence): RunningRequest => ({
  ...shown,
  executorHandle: 'h',
  logArtifactId: artifactId,
  callbackSequence: 1,
  callbackTokenDigest,
});

export const completionRequest = (
  shown: Fence,
  outcome: CompletionRequest['result']['outcome'],
  exitCode: number,
): CompletionRequest => ({
  ...shown,
  schema: COMPLETION_SCHEMA,
  callbackSequence: 2,
  callbackTokenDigest,
  result: { outcome, startedAtMs: 0, finishedAtMs: 1, exitCode },
  artifact: { logArtifactId: artifactId, byteLength: 0, sha256: sha256Hex(''), truncated: false },
});

export const renewalRequest = (shown: Fence): LeaseControlRequest => ({
  ...shown,
  schema: LEASE_CONTROL_SCHEMA,
  projectId: 'p',
});

export const plan = {
  contentDigest: sha256Hex('plan'),
  secretRefs: ['s1', 's2'],
  environmentBundleRefs: ['b'],
};

export const secretsRequest = (shown: Fence): SecretDeliveryRequest => ({
  ...shown,
  schema: SECRET_DELIVERY_SCHEMA,
  projectId: 'p',
  taskId: 't',
  taskRevision: 'rev',
  executionDigest: plan.contentDigest,
  secretRefs: plan.secretRefs,
  environmentBundleRefs: plan.environmentBundleRefs,
});

/** What else is so of an attempt's run and lease. */
export type Matter =
  'as it is' | 'cancellation requested' | 'stop requested' | 'secrets authorised' | 'delivery under way';

/** An attempt in the given state, as it gets there when its first claim does; an ended one was ended by the sweeper. */
export function execution(status: AttemptStatus, matter: Matter = 'as it is'): Execution {
  const over = ended(status);
  const goesOn = status === 'starting' || status === 'running';
  const runStatus = status === 'claimed' || status === 'starting' ? 'dispatching' : status;
  return {
    run: {
      runId: 'r',
      projectId: 'p',
      taskId: 't',
      taskRevision: 'rev',
      status: runStatus,
      priority: 0,
      newestAttemptNumber: 1,
      cancelRequestedAtMs: matter === 'cancellation requested' ? 10 : null,
      stopRequestedAtMs: matter === 'stop requested' ? 10 : null,
      deadlineAtMs: goesOn ? 40 : null,
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
      sessionId: SESSION_ID,
      workerGeneration: 1,
      offerId: 'o',
      tokenDigest: claim.tokenDigest,
      acquiredAtMs: 0,
      renewedAtMs: 0,
      expiresAtMs: EXPIRES_AT_MS,
      updatedAtMs: 0,
      authorisations: matter === 'secrets authorised' || matter === 'delivery under way' ? 1 : 0,
      custodyFailures: 0,
      openSinceMs: matter === 'delivery under way' ? NOW_MS : null,
    },
  };
}

/** Worker w's session 1, at version 3. */
export function session(status: SessionStatus): Session {
  return {
    workerId: 'w',
    sessionId: SESSION_ID,
    generation: 1,
    version: 3,
    status,
    expiresAtMs: EXPIRES_AT_MS,
    capabilitiesJson: '{}',
    capabilitiesHash: sha256Hex('{}'),
    maxConcurrentRuns: 1,
    availableSlots: 1,
    leasesAtReport: 0,
    leaseDurationMs: 100,
  };
}

/** Worker w as an operator put it, before it ever registered. */
export const unregistered: Session = {
  ...session('offline'),
  sessionId: null,
  generation: 0,
  version: 0,
  expiresAtMs: 0,
  capabilitiesJson: null,
  capabilitiesHash: null,
};
