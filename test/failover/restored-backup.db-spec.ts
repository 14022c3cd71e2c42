import { randomUUID } from 'node:crypto';
import { sha256Hex } from '@valise/contracts/documents';
import { Dawdling } from '../history/dawdling.js';
import { Random } from '../history/random.js';
import { Stage } from '../history/stage.js';
import { completion, delivery, fenceOf, type Held, newLeaseToken, renewal } from '../support/held-attempt.js';
import { OPERATOR, PROJECT, publication } from '../support/published-task.js';
import { codeOf } from '../support/refusal.js';
import { until } from '../support/until.js';
import { registration } from '../support/worker-session.js';
import { ReplicatedPostgres } from './replicated-postgres.js';

let cluster: ReplicatedPostgres;
let stage: Stage;
beforeAll(async () => {
  cluster = await ReplicatedPostgres.start();
  stage = await Stage.open(cluster, { lowered: false, pace: new Dawdling(new Random(1)) });
}, 120_000);
afterAll(async () => {
  await stage.close();
  await cluster.stop();
}, 60_000);

const SESSION = '01890000-0000-7000-8000-000000000001';
const authorize = (held: Held) =>
  stage.deliveries.authorize(
    { ...held.worker, certificateSerial: '01' },
    delivery(held),
    sha256Hex(randomUUID()),
  );

/** The worker claims the one attempt that waits, and is starting it. */
async function claim(workerId: string): Promise<Held> {
  await stage.workers.put(OPERATOR, workerId, { status: 'active', projects: [PROJECT], labels: {} });
  const key = { workerId, sessionId: SESSION };
  const { generation } = await stage.sessions.register(key, registration());
  const leaseToken = newLeaseToken();
  const asked = { workerGeneration: generation, offerId: randomUUID(), leaseToken };
  const { offer } = await stage.leases.claim(key, asked);
  if (!offer) throw new Error('an attempt waits');
  const worker = { ...key, generation };
  const held = { worker, offer, fence: fenceOf(worker, offer, leaseToken) };
  await stage.attempts.starting(key, held.fence);
  return held;
}

const expire = (): Promise<unknown[]> =>
  cluster.query(`UPDATE leases SET expires_at_ms = clock_ms() - 1 WHERE state = 'leased'`);

/** The code that `act` is refused with, once its pool has left the servers that are gone. */
function decided(act: () => Promise<unknown>): Promise<string> {
  return until('a decision', async () => {
    const code = await codeOf(act());
    return !code.endsWith('_unavailable') && code;
  });
}

describe('a restored backup', () => {
  it('delivers to no claim from before it or after it, and lets the attempt be claimed again', async () => {
    await stage.tasks.publish(OPERATOR, PROJECT, 'task', publication());
    await stage.runs.start(OPERATOR, PROJECT, 'task', { mutationId: randomUUID() });
    const older = await claim('older');
    await cluster.backUp();
    await expire();
    await stage.sweeper.sweep();
    const newer = await claim('newer');
    await authorize(newer);

    await expire();
    await cluster.restore();
    await expire();
    await decided(() => stage.workers.get('older'));
    await decided(() => stage.sweeper.sweep());

    for (const held of [older, newer]) {
      expect(await decided(() => authorize(held))).toBe('worker_secret_delivery_fenced');
      expect(await codeOf(stage.leases.renew(held.worker, renewal(held)))).toBe(
        'worker_lease_control_fenced',
      );
    }
    expect(await codeOf(stage.attempts.complete(newer.worker, completion(newer)))).toBe(
      'worker_completion_fenced',
    );
    await stage.sweeper.sweep();
    const again = await claim('afterwards');
    expect(again.fence).toMatchObject({ attemptId: older.fence.attemptId, leaseGeneration: 2 });
    expect((await authorize(again)).attemptId).toBe(older.fence.attemptId);
  }, 120_000);
});
