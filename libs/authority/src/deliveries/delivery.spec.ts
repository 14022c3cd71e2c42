import { leaseTokenDigest, sha256Hex } from '@valise/contracts/documents';
import { ATTEMPT_STATUSES, SECRET_DELIVERY_SCHEMA, type SecretDeliveryRequest } from '@valise/contracts/wire';
import { decideDelivery, type DeliveryFacts } from './delivery.js';

const TOKEN = 't'.repeat(43);
const SESSION = '01890000-0000-7000-8000-000000000001';
const DIGEST = sha256Hex('plan');
const LIMITS = { responseDeadlineMs: 5000, maxAuthorisations: 8, maxCustodyFailures: 5 };
const caller = { workerId: 'w', sessionId: SESSION, certificateSerial: '01' };
const request: SecretDeliveryRequest = {
  schema: SECRET_DELIVERY_SCHEMA,
  workerGeneration: 1,
  runId: 'r',
  attemptId: 'a',
  projectId: 'p',
  taskId: 't',
  taskRevision: 'rev',
  executionDigest: DIGEST,
  offerId: 'o',
  leaseGeneration: 1,
  leaseToken: TOKEN,
  expectedLeaseVersion: 3,
  secretRefs: ['s1', 's2'],
  environmentBundleRefs: ['b'],
};
type Target = NonNullable<DeliveryFacts['target']>;
const target: Target = {
  run: {
    runId: 'r',
    projectId: 'p',
    taskId: 't',
    taskRevision: 'rev',
    status: 'dispatching',
    priority: 0,
    newestAttemptNumber: 1,
    cancelRequestedAtMs: null,
    stopRequestedAtMs: null,
    deadlineAtMs: null,
  },
  attempt: { attemptId: 'a', attemptNumber: 1, status: 'starting' },
  lease: {
    state: 'leased',
    generation: 1,
    version: 3,
    workerId: 'w',
    sessionId: SESSION,
    workerGeneration: 1,
    offerId: 'o',
    tokenDigest: leaseTokenDigest(TOKEN),
    acquiredAtMs: 0,
    renewedAtMs: 0,
    expiresAtMs: 20_000,
    updatedAtMs: 0,
    authorisations: 0,
    custodyFailures: 0,
    openSinceMs: null,
  },
  plan: { contentDigest: DIGEST, secretRefs: ['s1', 's2'], environmentBundleRefs: ['b'] },
};
const facts: DeliveryFacts = {
  nowMs: 10_000,
  worker: { status: 'active', projects: ['p'] },
  session: { sessionId: SESSION, generation: 1, expiresAtMs: 20_000 },
  target,
};

type Change = (given: DeliveryFacts) => DeliveryFacts;
const run =
  (change: Partial<Target['run']>): Change =>
  (given) => ({
    ...given,
    target: given.target && { ...given.target, run: { ...given.target.run, ...change } },
  });
const lease =
  (change: Partial<Target['lease']>): Change =>
  (given) => ({
    ...given,
    target: given.target && { ...given.target, lease: { ...given.target.lease, ...change } },
  });
const plan =
  (change: Partial<Target['plan']>): Change =>
  (given) => ({
    ...given,
    target: given.target && { ...given.target, plan: { ...given.target.plan, ...change } },
  });
const session =
  (change: Partial<NonNullable<DeliveryFacts['session']>>): Change =>
  (given) => ({ ...given, session: given.session && { ...given.session, ...change } });

/** One fact changed → the denial, in the order in which they are looked at. */
const WRONG: [string, Change, string][] = [
  ['the worker is unknown', (given) => ({ ...given, worker: null }), 'worker_unknown'],
  [
    'it is revoked',
    (given) => ({ ...given, worker: { status: 'revoked', projects: ['p'] } }),
    'worker_revoked',
  ],
  ['there is no attempt', (given) => ({ ...given, target: null }), 'attempt_unknown'],
  ['the run is another', run({ runId: 'x' }), 'run_mismatch'],
  ['the project is another', run({ projectId: 'x' }), 'project_mismatch'],
  [
    'it may not serve it',
    (given) => ({ ...given, worker: { status: 'active', projects: ['x'] } }),
    'project_not_allowed',
  ],
  ['the task is another', run({ taskId: 'x' }), 'task_mismatch'],
  ['the revision is another', run({ taskRevision: 'x' }), 'task_mismatch'],
  ['it never registered', (given) => ({ ...given, session: null }), 'session_mismatch'],
  ['a newer session replaced it', session({ sessionId: 'x' }), 'session_mismatch'],
  ['the session is of another generation', session({ generation: 2 }), 'worker_generation_mismatch'],
  ['the session has expired', session({ expiresAtMs: 10_000 }), 'session_expired'],
  ['the lease is released', lease({ state: 'released' }), 'lease_not_held'],
  ['the lease is completed', lease({ state: 'completed' }), 'lease_not_held'],
  ['another worker has it', lease({ workerId: 'x' }), 'lease_not_held'],
  ['another session has it', lease({ sessionId: 'x' }), 'lease_not_held'],
  ['another worker generation has it', lease({ workerGeneration: 2 }), 'lease_not_held'],
  ['it was claimed again', lease({ generation: 2 }), 'lease_generation_mismatch'],
  ['another offer claimed it', lease({ offerId: 'x' }), 'offer_mismatch'],
  ['the token is another', lease({ tokenDigest: sha256Hex('x') }), 'token_mismatch'],
  ['the run has ended', run({ status: 'lost' }), 'attempt_not_starting'],
  ['a newer attempt exists', run({ newestAttemptNumber: 2 }), 'attempt_not_newest'],
  ['cancellation is requested', run({ cancelRequestedAtMs: 1 }), 'stop_requested'],
  ['a stop is requested', run({ stopRequestedAtMs: 1 }), 'stop_requested'],
  ['the lease expires this millisecond', lease({ expiresAtMs: 10_000 }), 'lease_expired'],
  ['the version is later', lease({ version: 4 }), 'lease_version_mismatch'],
  ['the version is older', lease({ version: 2 }), 'lease_version_mismatch'],
  ['the plan is another', plan({ contentDigest: sha256Hex('x') }), 'execution_digest_mismatch'],
  ['a secret is missing', plan({ secretRefs: ['s1', 's2', 's3'] }), 'secret_scope_mismatch'],
  ['a secret is added', plan({ secretRefs: ['s1'] }), 'secret_scope_mismatch'],
  ['the order is another', plan({ secretRefs: ['s2', 's1'] }), 'secret_scope_mismatch'],
  ['the bundle is another', plan({ environmentBundleRefs: ['x'] }), 'secret_scope_mismatch'],
];
const PAIRS = WRONG.flatMap((one, index) =>
  WRONG.slice(index + 1).map((other): [string, string, Change] => [
    one[0],
    other[0],
    (given) => other[1](one[1](given)),
  ]),
);

const decide = (given: DeliveryFacts) => decideDelivery(caller, request, given, LIMITS);

describe('the decision of a delivery', () => {
  it('authorises when every fact is right and live', () => {
    expect(decide(facts)).toEqual({ kind: 'authorise' });
    expect(decide({ ...facts, worker: { status: 'draining', projects: ['*'] } })).toEqual({
      kind: 'authorise',
    });
  });

  it.each(WRONG)('denies when %s', (_what, change, denial) => {
    expect(decide(change(facts))).toEqual({ kind: 'deny', denial });
  });

  it('denies when any two of these are so', () => {
    const kinds = PAIRS.map(([one, other, change]) => [one, other, decide(change(facts)).kind]);
    expect(kinds.filter(([, , kind]) => kind !== 'deny')).toEqual([]);
  });

  it.each(ATTEMPT_STATUSES.filter((status) => status !== 'starting'))(
    'denies an attempt that is %s',
    (status) => {
      const given = { ...facts, target: { ...target, attempt: { ...target.attempt, status } } };
      expect(decide(given)).toEqual({ kind: 'deny', denial: 'attempt_not_starting' });
    },
  );

  it('puts off while the last delivery is younger than the response deadline', () => {
    expect(decide(lease({ openSinceMs: 5001, authorisations: 8 })(facts))).toEqual({
      kind: 'busy',
      retryAfterMs: 1,
    });
    expect(decide(lease({ openSinceMs: 5000 })(facts))).toEqual({ kind: 'authorise' });
  });

  it('tells a stranger nothing of a delivery on its way', () => {
    expect(decide(lease({ openSinceMs: 9000, workerId: 'x' })(facts)).kind).toBe('deny');
  });

  it('authorises eight times and denies the ninth', () => {
    expect(decide(lease({ authorisations: 7 })(facts))).toEqual({ kind: 'authorise' });
    expect(decide(lease({ authorisations: 8 })(facts))).toEqual({
      kind: 'deny',
      denial: 'delivery_budget_exhausted',
    });
  });

  it('denies once custody has failed five times', () => {
    expect(decide(lease({ custodyFailures: 4 })(facts))).toEqual({ kind: 'authorise' });
    expect(decide(lease({ custodyFailures: 5 })(facts))).toEqual({
      kind: 'deny',
      denial: 'delivery_budget_exhausted',
    });
  });
});
