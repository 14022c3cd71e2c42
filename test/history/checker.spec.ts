import { check } from './checker.js';
import type { AttemptRow, LeaseRow, RunRow } from './history.js';
import { Script } from './script.js';

const ATTEMPT: AttemptRow = {
  attempt_id: 'a',
  run_id: 'r',
  attempt_number: 1,
  project_id: 'p',
  status: 'queued',
  claims: 0,
  decided_by: null,
  callback_token_digest: null,
};
const RUN: RunRow = {
  run_id: 'r',
  status: 'queued',
  newest_attempt_number: 1,
  cancel_requested_at_ms: null,
  stop_requested_at_ms: null,
  deadline_at_ms: null,
};
const FREE: LeaseRow = {
  attempt_id: 'a',
  state: 'released',
  generation: 0,
  version: 0,
  worker_id: null,
  session_id: null,
  worker_generation: null,
  offer_id: null,
  token_digest: null,
  renewed_at_ms: 0,
  expires_at_ms: 0,
  authorisations: 0,
  custody_failures: 0,
  open_record_id: null,
  open_since_ms: null,
};
const HELD: Partial<LeaseRow> = {
  state: 'leased',
  generation: 1,
  version: 1,
  worker_id: 'w',
  session_id: 's1',
  worker_generation: 1,
  offer_id: 'o1',
  token_digest: 't1',
  renewed_at_ms: 10,
  expires_at_ms: 100,
};
const FENCE = {
  attemptId: 'a',
  sessionId: 's1',
  workerGeneration: 1,
  offerId: 'o1',
  leaseGeneration: 1,
  tokenDigest: 't1',
  version: 1,
};

/** A run waits, and a worker is online. */
function queued(): Script {
  return new Script()
    .commit('valise_operator', ['workers', 'w', { worker_id: 'w', status: 'active', projects: ['p'] }])
    .commit('valise_ingress', [
      'worker_sessions',
      'w',
      { worker_id: 'w', session_id: 's1', generation: 1, version: 0, status: 'online' },
    ])
    .commit('valise_operator', ['runs', 'r', RUN], ['attempts', 'a', ATTEMPT], ['leases', 'a', FREE]);
}

/** The worker has claimed it. */
function claimed(): Script {
  return queued()
    .commit(
      'valise_ingress',
      ['attempts', 'a', { status: 'claimed' }],
      ['runs', 'r', { status: 'dispatching' }],
      ['leases', 'a', HELD],
      ['lease_claims', 'o1', { offer_id: 'o1', attempt_id: 'a', lease_generation: 1, worker_id: 'w' }],
    )
    .call({
      kind: 'claim',
      requestId: 'o1',
      answer: 'new_claim',
      attemptId: 'a',
      leaseGeneration: 1,
      leaseVersion: 1,
    });
}

const starting = (): Script => claimed().commit('valise_ingress', ['attempts', 'a', { status: 'starting' }]);

/** The delivery's transaction, with its call. */
function delivered(script: Script, decidedAtMs = 50): Script {
  return script
    .commit(
      'valise_ingress',
      ['leases', 'a', { authorisations: 1, open_record_id: 'd1', open_since_ms: decidedAtMs }],
      [
        'delivery_records',
        'd1',
        {
          record_id: 'd1',
          decided_at_ms: decidedAtMs,
          decision: 'authorised',
          denial: null,
          worker_id: 'w',
          attempt_id: 'a',
          lease_generation: 1,
          request_digest: 'q1',
        },
      ],
    )
    .call({
      kind: 'deliver',
      fence: FENCE,
      requestId: 'q1',
      answer: 'granted',
      recordId: 'd1',
      attemptId: 'a',
    });
}

function completed(script: Script, version = 2): Script {
  return script
    .commit(
      'valise_ingress',
      ['attempts', 'a', { status: 'succeeded', decided_by: 'completion' }],
      ['runs', 'r', { status: 'succeeded' }],
      ['leases', 'a', { state: 'completed', version }],
    )
    .call({ kind: 'completion', fence: FENCE, answer: 'applied', attemptId: 'a' });
}

/** What is wrong, without where. */
const faultsOf = (script: Script): string[] =>
  check(script.history).map((fault) => fault.replace(/ \(attempt.*|, at \d+$/g, ''));

describe('a history', () => {
  it('that could be is not faulted', () => {
    expect(faultsOf(completed(delivered(starting())))).toEqual([]);
    expect(faultsOf(queued().waits('a'))).toEqual([]);
  });

  const renewed = ['leases', 'a', { version: 2, renewed_at_ms: 40, expires_at_ms: 130 }] as const;
  const replaced = ['worker_sessions', 'w', { session_id: 's2', generation: 2 }] as const;
  const expired = ['leases', 'a', { version: 2, expires_at_ms: 20 }] as const;

  it.each<[string, Script, string]>([
    [
      'a delivery under a version that had moved',
      completed(delivered(starting().commit('valise_ingress', renewed)), 3),
      'a delivery was granted to a request that does not show the lease as it was',
    ],
    [
      'a delivery on an expired lease',
      completed(delivered(starting(), 100)),
      'an authorisation on an expired lease',
    ],
    [
      'a delivery after the cancellation',
      completed(
        delivered(
          starting().commit(
            'valise_operator',
            ['runs', 'r', { cancel_requested_at_ms: 30 }],
            ['leases', 'a', { version: 2 }],
          ),
        ),
        3,
      ),
      'an authorisation after the run was cancelled',
    ],
    [
      'a delivery to a session that was replaced',
      completed(delivered(starting().commit('valise_ingress', expired, replaced)), 3),
      'an authorisation after the session was replaced',
    ],
    [
      'a delivery to a revoked worker',
      completed(
        delivered(
          starting().commit('valise_operator', ['workers', 'w', { status: 'revoked' }], expired, [
            'audit_events',
            '1',
            { action: 'put_worker', subject_id: 'w' },
          ]),
        ),
        3,
      ),
      'an authorisation after the worker lost its right',
    ],
    ['a delivery before starting', delivered(claimed()), 'an authorisation before starting'],
    [
      'a delivery without a record',
      completed(
        starting().commit('valise_ingress', [
          'leases',
          'a',
          { authorisations: 1, open_record_id: 'd1', open_since_ms: 50 },
        ]),
      ),
      'an authorisation without its record',
    ],
    [
      'an answer without a record',
      completed(
        starting().call({
          kind: 'deliver',
          fence: FENCE,
          requestId: 'q1',
          answer: 'granted',
          recordId: 'd1',
        }),
      ),
      'a delivery was answered granted and is not on record so',
    ],
    [
      'a record without a request',
      completed(
        starting().commit('valise_ingress', [
          'delivery_records',
          'd9',
          { record_id: 'd9', decision: 'denied', request_digest: 'q9', denial: 'lease_moved' },
        ]),
      ),
      'a record without its request',
    ],
    [
      'a cancellation that the lease does not show',
      completed(starting().commit('valise_operator', ['runs', 'r', { cancel_requested_at_ms: 30 }])),
      'a stop is requested, and the lease does not show it',
    ],
    [
      'a replaced session that keeps its lease',
      completed(starting().commit('valise_ingress', replaced)),
      'a session is replaced, and a lease of it does not show it',
    ],
    [
      'a revoked worker that keeps its lease',
      completed(
        starting().commit(
          'valise_operator',
          ['workers', 'w', { status: 'revoked' }],
          ['audit_events', '1', { action: 'put_worker', subject_id: 'w' }],
        ),
      ),
      'a worker loses a right, and a lease of it does not show it',
    ],
    [
      'a second holder',
      claimed().commit(
        'valise_ingress',
        ['leases', 'a', { generation: 2, version: 2, offer_id: 'o2', token_digest: 't2' }],
        ['lease_claims', 'o2', { offer_id: 'o2', attempt_id: 'a', lease_generation: 2, worker_id: 'w' }],
      ),
      'a second holder: a live lease is claimed',
    ],
    [
      'the renewal of an expired lease',
      completed(
        starting().commit('valise_ingress', [
          'leases',
          'a',
          { version: 2, renewed_at_ms: 100, expires_at_ms: 130 },
        ]),
        3,
      ),
      'an expired lease is renewed',
    ],
    [
      'an attempt that ends twice',
      completed(starting()).commit('valise_ingress', ['attempts', 'a', { status: 'failed' }]),
      'an attempt ends twice',
    ],
    [
      'a lease that moves unseen',
      completed(starting().commit('valise_ingress', ['leases', 'a', { expires_at_ms: 90 }]), 2),
      'a lease moves without raising its version',
    ],
    [
      'a version that falls',
      completed(starting().commit('valise_ingress', ['leases', 'a', { version: 0 }]), 1),
      'a version falls',
    ],
    [
      'a requeued attempt that may have its secrets',
      delivered(starting())
        .commit(
          'valise_sweeper',
          ['attempts', 'a', { status: 'queued' }],
          ['runs', 'r', { status: 'queued' }],
          ['leases', 'a', { state: 'released', version: 2 }],
        )
        .waits('a'),
      'the sweeper requeues what may have its secrets',
    ],
    ['an attempt that is stuck', starting(), 'an attempt is stuck'],
    ['a queued attempt that nobody can claim', queued(), 'a queued attempt that nobody can claim'],
    [
      'a completion that was applied and lost',
      starting().call({ kind: 'completion', fence: FENCE, answer: 'applied', attemptId: 'a' }),
      'an applied completion is lost',
    ],
    ['a call that broke', queued().waits('a').call({ kind: 'renew', answer: 'fault' }), 'renew: a fault'],
    [
      'a delivery that was asked for after a renewal had been answered',
      completed(
        delivered(starting().call({ kind: 'renew', answer: 'renewed', attemptId: 'a', leaseVersion: 2 })),
      ),
      'a delivery is granted that was asked for after its fence had moved',
    ],
  ])('with %s is faulted', (_what, script, fault) => {
    expect(faultsOf(script)).toContain(fault);
  });
});
