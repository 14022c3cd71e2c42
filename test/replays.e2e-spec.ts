import { randomUUID } from 'node:crypto';
import { useDeployment } from './support/deployment.js';
import { newLeaseToken } from './support/held-attempt.js';
import { useDatabase } from './support/postgres.js';
import { onlyFor, PROJECT, publication } from './support/published-task.js';
import { registration } from './support/worker-session.js';

const database = useDatabase();
const deployment = useDeployment(database);

const count = async (table: string): Promise<number> => {
  const [row] = await database().query<{ count: string }>(`SELECT count(*) FROM ${table}`);
  return Number(row?.count);
};

describe('the same request twice', () => {
  it('publishes one revision', async () => {
    const { management } = deployment();
    const request = publication();
    const first = await management.publish(PROJECT, 'published-twice', request);
    const again = await management.publish(PROJECT, 'published-twice', request);
    expect([first.outcome, again.outcome]).toEqual(['published', 'replayed']);
    expect([again.revision, again.contentDigest, again.executionDigest]).toEqual([
      first.revision,
      first.contentDigest,
      first.executionDigest,
    ]);
    await expect(
      management.publish(PROJECT, 'published-twice', { ...request, name: 'Other' }),
    ).rejects.toThrow('mutation_conflict');
    await expect(
      management.publish(PROJECT, 'published-twice', { ...request, mutationId: randomUUID() }),
    ).rejects.toThrow('revision_conflict');
  });

  it('starts one run', async () => {
    const { management } = deployment();
    await management.publish(PROJECT, 'started-twice', publication());
    const mutationId = randomUUID();
    const before = await count('runs');
    const first = await management.startRun(PROJECT, 'started-twice', { mutationId });
    const again = await management.startRun(PROJECT, 'started-twice', { mutationId });
    expect([first.outcome, again.outcome]).toEqual(['applied', 'replayed']);
    expect(again.runId).toBe(first.runId);
    expect(await count('runs')).toBe(before + 1);
  });

  it('registers one session', async () => {
    const worker = await deployment().playedWorker();
    const again = await worker.call('register', registration({ leaseDurationMs: 60_000 }));
    expect(again.json).toMatchObject({
      generation: worker.generation,
      status: 'online',
      replacedSession: false,
    });
  });

  it('claims one lease, which the second answer calls a recovery', async () => {
    const worker = await deployment().playedWorker();
    await deployment().run(onlyFor(worker.workerId));
    const claim = { offerId: randomUUID(), leaseToken: newLeaseToken() };
    const before = await count('lease_claims');
    const first = (await worker.ask(claim)).json.offer as Record<string, unknown>;
    const again = (await worker.ask(claim)).json.offer as Record<string, unknown>;
    expect([first.deliveryKind, again.deliveryKind]).toEqual(['new_claim', 'lease_recovery']);
    expect({ ...again, deliveryKind: 'new_claim' }).toEqual(first);
    expect(await count('lease_claims')).toBe(before + 1);
  });

  it('renews, starts and completes one attempt', async () => {
    const worker = await deployment().playedWorker();
    await deployment().run(onlyFor(worker.workerId));
    const held = await worker.hold();
    expect((await worker.call('starting', held.fence)).json.status).toBe('already_starting');
    for (let repeat = 0; repeat < 2; repeat += 1)
      expect((await worker.renew(held)).json.status).toBe('renewed');
    const running = [await worker.running(held), await worker.running(held)];
    expect(running.map(({ json }) => json.status)).toEqual(['applied', 'already_running']);
    const completed = [await worker.complete(held), await worker.complete(held)];
    expect(completed.map(({ json }) => json.status)).toEqual(['applied', 'already_completed']);
    expect((await deployment().ended(held.fence.runId)).status).toBe('succeeded');
  });
});
