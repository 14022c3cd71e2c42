import { randomUUID } from 'node:crypto';
import { ValiseError } from '@valise/contracts/failure';
import {
  completion,
  type Held,
  newLeaseToken,
  renewal,
  running,
  upload,
} from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { useWorld } from '../../../../test/support/world.js';

const database = useDatabase();
const world = useWorld(database);

async function* nothing(): AsyncGenerator<Buffer> {
  yield await Promise.resolve(Buffer.alloc(0));
}

type Call = (held: Held) => Promise<unknown>;
const CALLS: [string, Call, string][] = [
  ['starting', (held) => world().attempts.starting(held.worker, held.fence), 'worker_activation_fenced'],
  ['running', (held) => world().attempts.running(held.worker, running(held)), 'worker_activation_fenced'],
  [
    'start-failure',
    (held) => world().attempts.startFailure(held.worker, held.fence),
    'worker_activation_fenced',
  ],
  [
    'completion',
    (held) => world().attempts.complete(held.worker, completion(held)),
    'worker_completion_fenced',
  ],
  ['a renewal', (held) => world().leases.renew(held.worker, renewal(held)), 'worker_lease_control_fenced'],
  [
    'an upload',
    (held) => world().artifacts.store(held.worker, upload(held, 0), nothing()),
    'worker_artifact_fenced',
  ],
];

/** Runs `act` while somebody else has the run, so that whatever asks for its lock waits for ever. */
async function whileLocked<T>(held: Held, act: () => Promise<T>): Promise<T> {
  const release = await database().hold('SELECT FROM runs WHERE run_id = $1 FOR UPDATE', [held.fence.runId]);
  try {
    return await act();
  } finally {
    await release();
  }
}

async function refusalOf(answer: Promise<unknown>): Promise<{ code: string; facts: object }> {
  try {
    await answer;
  } catch (error) {
    if (error instanceof ValiseError) return { code: error.code, facts: error.facts };
    throw error;
  }
  throw new Error('it was not refused');
}

describe.each(CALLS)('%s', (_what, call, code) => {
  const fence = (held: Held, change: Partial<Held['fence']>): Held => ({
    ...held,
    fence: { ...held.fence, ...change },
  });

  it('of a stranger waits for no lock, and is told nothing about which ids there are', async () => {
    const held = await world().held('claimed');
    const other = await world().held('claimed');
    const thief = { ...held, worker: await world().worker() };
    const strangers = [
      thief,
      fence(thief, { leaseToken: newLeaseToken() }),
      fence(thief, { offerId: randomUUID() }),
      fence(thief, { offerId: other.fence.offerId }),
      fence(thief, { runId: randomUUID() }),
      fence(thief, { attemptId: randomUUID() }),
      fence(held, { leaseToken: newLeaseToken() }),
      fence(held, { offerId: randomUUID() }),
      fence(held, { leaseGeneration: 7 }),
      fence(held, { attemptId: other.fence.attemptId }),
      fence(held, { attemptId: randomUUID() }),
    ];
    const before = await world().snapshot();
    for (const stranger of strangers) {
      const refused = await whileLocked(held, () => refusalOf(call(stranger)));
      expect(refused).toEqual({ code, facts: { rule: 'stranger' } });
    }
    expect(await world().snapshot()).toEqual(before);
    const lost = fence(held, { runId: randomUUID() });
    expect(await refusalOf(call(lost))).toEqual({ code, facts: { rule: 'stranger' } });
  });
});

describe('a repeated claim', () => {
  it('of a stranger waits for no lock', async () => {
    const held = await world().held('claimed');
    const thief = await world().worker();
    const ask = (worker: Held['worker'], leaseToken: string) =>
      world().leases.claim(worker, {
        workerGeneration: worker.generation,
        offerId: held.fence.offerId,
        leaseToken,
      });
    for (const claim of [() => ask(thief, held.fence.leaseToken), () => ask(held.worker, newLeaseToken())]) {
      expect(await whileLocked(held, () => refusalOf(claim()))).toMatchObject({
        code: 'worker_offer_fenced',
      });
    }
  });
});
