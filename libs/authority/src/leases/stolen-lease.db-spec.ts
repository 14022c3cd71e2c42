import { ValiseError } from '@valise/contracts/failure';
import { completion, type Held, renewal, running } from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { useWorld } from '../../../../test/support/world.js';

const database = useDatabase();
const world = useWorld(database);

/** What a worker may say when it wakes up, and what it is told. */
const WORDS: [string, (sleeper: Held) => Promise<unknown>, string][] = [
  ['asks for the secrets', (sleeper) => world().authorize(sleeper), 'worker_secret_delivery_fenced'],
  [
    'asks for the secrets with the version of the lease as it is',
    async (sleeper) => {
      const { version } = await world().leaseOf(sleeper);
      return world().authorize(sleeper, { expectedLeaseVersion: Number(version) });
    },
    'worker_secret_delivery_fenced',
  ],
  [
    'renews',
    (sleeper) => world().leases.renew(sleeper.worker, renewal(sleeper)),
    'worker_lease_control_fenced',
  ],
  [
    'starts',
    (sleeper) => world().attempts.starting(sleeper.worker, sleeper.fence),
    'worker_activation_fenced',
  ],
  [
    'runs',
    (sleeper) => world().attempts.running(sleeper.worker, running(sleeper)),
    'worker_activation_fenced',
  ],
  [
    'fails to start',
    (sleeper) => world().attempts.startFailure(sleeper.worker, sleeper.fence),
    'already_terminal',
  ],
  [
    'completes',
    (sleeper) => world().attempts.complete(sleeper.worker, completion(sleeper)),
    'already_terminal',
  ],
];

describe('a worker that slept past its lease while another one claimed the attempt', () => {
  it.each(WORDS)('%s in vain, and leaves the new holder alone', async (_what, act, told) => {
    const sleeper = await world().held('starting');
    await world().expireLease(sleeper);
    await world().sweeper.sweep();
    const holder = await world().claim(await world().worker());
    expect(holder.fence.attemptId).toBe(sleeper.fence.attemptId);
    await world().attempts.starting(holder.worker, holder.fence);
    const before = [
      await world().leaseOf(holder),
      await world().attemptOf(holder),
      await world().runOf(holder),
    ];
    expect(await wordOf(act(sleeper))).toBe(told);
    const after = [
      await world().leaseOf(holder),
      await world().attemptOf(holder),
      await world().runOf(holder),
    ];
    expect(after).toEqual(before);
    expect(await world().authorize(holder)).toMatchObject({
      attemptId: holder.fence.attemptId,
    });
  });

  it('leaves a denied record for each time it asked', async () => {
    const sleeper = await world().held('starting');
    await world().expireLease(sleeper);
    await world().sweeper.sweep();
    await world().claim(await world().worker());
    for (let time = 0; time < 2; time += 1) await wordOf(world().authorize(sleeper));
    expect(
      await database().query('SELECT decision, denial FROM delivery_records WHERE worker_id = $1', [
        sleeper.worker.workerId,
      ]),
    ).toEqual(Array(2).fill({ decision: 'denied', denial: 'lease_not_held' }));
  });
});

/** The status of the answer, or the code of the refusal. */
async function wordOf(act: Promise<unknown>): Promise<unknown> {
  try {
    return ((await act) as { status?: unknown }).status;
  } catch (error) {
    if (error instanceof ValiseError) return error.code;
    throw error;
  }
}
