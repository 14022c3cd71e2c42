import { randomUUID } from 'node:crypto';
import { newLeaseToken } from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { OPERATOR, plainSpec, PROJECT, publication } from '../../../../test/support/published-task.js';
import { codeOf, refusal } from '../../../../test/support/refusal.js';
import { newSessionId, type TestWorker } from '../../../../test/support/worker-session.js';
import { useWorld } from '../../../../test/support/world.js';

const database = useDatabase();
const world = useWorld(database);

const ask = (worker: TestWorker, offerId: string = randomUUID(), leaseToken = newLeaseToken()) => ({
  workerGeneration: worker.generation,
  offerId,
  leaseToken,
});

const damage = (runId: string, column: 'plan_json' | 'placement_json', text: string) =>
  database().query(
    `UPDATE task_execution_revisions SET ${column} = $2
      WHERE (project_id, task_id, revision) = (SELECT project_id, task_id, revision FROM runs WHERE run_id = $1)`,
    [runId, text],
  );

/** Nothing is queued, and nobody holds anything. */
afterEach(async () => {
  await database().query(
    `UPDATE attempts SET status = 'failed' WHERE status IN ('queued', 'claimed', 'starting')`,
  );
  await database().query(`UPDATE leases SET state = 'completed' WHERE state = 'leased'`);
});

describe('a claim', () => {
  it('holds the queued attempt for as long as the session said', async () => {
    const runId = await world().queuedRun();
    const worker = await world().worker(undefined, {}, { leaseDurationMs: 7000 });
    const held = await world().claim(worker);
    const { lease, candidate, executionRevision, executionDigest, deliveryKind } = held.offer;
    expect(candidate.runId).toBe(runId);
    expect(deliveryKind).toBe('new_claim');
    expect(lease).toMatchObject({ leaseGeneration: 1, version: 1 });
    expect(lease.expiresAtMs - lease.acquiredAtMs).toBe(7000);
    expect(executionRevision.contentDigest).toBe(executionDigest);
    expect(await world().runOf(held)).toMatchObject({ status: 'dispatching' });
    expect(await world().attemptOf(held)).toMatchObject({ status: 'claimed', claims: 1 });
  });

  it('keeps only a digest of the token', async () => {
    const held = await world().held();
    const lease = await world().leaseOf(held);
    expect(Object.values(lease)).not.toContain(held.fence.leaseToken);
    expect(lease.token_digest).toMatch(/^[0-9a-f]{64}$/);
  });

  it('is answered again with the same offer, and changes nothing', async () => {
    await world().queuedRun();
    const worker = await world().worker();
    const request = ask(worker);
    const first = await world().leases.claim(worker, request);
    const before = await world().snapshot();
    const second = await world().leases.claim(worker, request);
    expect(second.offer).toEqual(Object.assign({}, first.offer, { deliveryKind: 'lease_recovery' }));
    expect(await world().snapshot()).toEqual(before);
  });

  it('is fenced when its offer id has claimed before and holds nothing any more', async () => {
    const held = await world().held();
    await world().attempts.startFailure(held.worker, { ...held.fence, reasonCode: 'worker_shutdown' });
    const again = ask(held.worker, held.fence.offerId, held.fence.leaseToken);
    expect(await refusal(world(), () => world().leases.claim(held.worker, again))).toBe(
      'worker_offer_fenced',
    );
  });

  it('is fenced when the offer id is repeated with another token or by another worker', async () => {
    const held = await world().held();
    const other = await world().worker();
    const { offerId, leaseToken } = held.fence;
    expect(await refusal(world(), () => world().leases.claim(held.worker, ask(held.worker, offerId)))).toBe(
      'worker_offer_fenced',
    );
    expect(await refusal(world(), () => world().leases.claim(other, ask(other, offerId, leaseToken)))).toBe(
      'worker_offer_fenced',
    );
  });

  it('is idle for a draining worker, a draining session and a worker without slots', async () => {
    await world().queuedRun();
    const drained = await world().worker(undefined, { status: 'draining' });
    expect(await world().leases.claim(drained, ask(drained))).toMatchObject({ reason: 'worker_unavailable' });
    const full = await world().worker(undefined, {}, { availableSlots: 0 });
    expect(await world().leases.claim(full, ask(full))).toMatchObject({ reason: 'worker_unavailable' });
    const leaving = await world().worker();
    await world().sessions.transition(leaving, {
      schema: 'qinglong/worker-session-transition@v1',
      generation: leaving.generation,
      expectedVersion: 0,
      status: 'draining',
    });
    expect(await world().leases.claim(leaving, ask(leaving))).toMatchObject({
      status: 'idle',
      reason: 'worker_unavailable',
      retryAfterMs: 1000,
    });
  });

  it('takes no more attempts than the worker runs at once', async () => {
    await world().queuedRun();
    await world().queuedRun();
    const worker = await world().worker(undefined, {}, { maxConcurrentRuns: 1, availableSlots: 1 });
    await world().claim(worker);
    expect(await world().leases.claim(worker, ask(worker))).toMatchObject({ reason: 'worker_unavailable' });
  });

  it('does not see the attempts of a project that the worker may not serve', async () => {
    await world().queuedRun();
    const worker = await world().worker(undefined, { projects: ['another-project'] });
    expect(await world().leases.claim(worker, ask(worker))).toMatchObject({ reason: 'no_candidates' });
  });

  it('passes over a placement that the worker does not fit', async () => {
    const elsewhere = plainSpec({ placement: { required: { labels: { zone: 'b' } } } });
    await world().queuedRun({ spec: elsewhere });
    const worker = await world().worker();
    expect(await world().leases.claim(worker, ask(worker))).toMatchObject({ reason: 'no_match' });
    const fitting = await world().worker(undefined, { labels: { zone: 'b' } });
    expect((await world().claim(fitting)).offer.placementScore).toBe(0);
  });

  const damages = [
    '{',
    '',
    'null',
    '[]',
    '"text"',
    '{"required":{"labels":{"a":1}}}',
    '{"required":{},"required":{}}',
  ];

  it.each(damages)(
    'passes over a placement that was damaged to %j, and says so when there is nothing else',
    async (text) => {
      const damagedId = await world().queuedRun();
      await damage(damagedId, 'placement_json', text);
      const worker = await world().worker();
      expect(await world().leases.claim(worker, ask(worker))).toMatchObject({ reason: 'plans_unavailable' });
      const runId = await world().queuedRun();
      expect((await world().claim(worker)).fence.runId).toBe(runId);
    },
  );

  it.each(damages)(
    'passes over a plan that was damaged to %j, and says so when there is nothing else',
    async (text) => {
      const damagedId = await world().queuedRun();
      await damage(damagedId, 'plan_json', text);
      const worker = await world().worker();
      expect(await world().leases.claim(worker, ask(worker))).toMatchObject({ reason: 'plans_unavailable' });
      const runId = await world().queuedRun();
      expect((await world().claim(worker)).fence.runId).toBe(runId);
    },
  );

  it('is not answered again with a plan that was damaged since', async () => {
    const runId = await world().queuedRun();
    const worker = await world().worker();
    const request = ask(worker);
    await world().leases.claim(worker, request);
    await damage(runId, 'plan_json', '{');
    const before = await world().snapshot();
    expect(await world().leases.claim(worker, request)).toMatchObject({ reason: 'plans_unavailable' });
    expect(await world().snapshot()).toEqual(before);
  });

  it('finds a fitting attempt behind many that do not fit', async () => {
    const elsewhere = plainSpec({ placement: { required: { labels: { zone: 'b' } } } });
    const taskId = `task-${randomUUID()}`;
    await world().tasks.publish(OPERATOR, PROJECT, taskId, publication({ spec: elsewhere }));
    for (let run = 0; run < 70; run += 1) {
      await world().runs.start(OPERATOR, PROJECT, taskId, { mutationId: randomUUID(), priority: 9 });
    }
    const runId = await world().queuedRun();
    const held = await world().claim(await world().worker(undefined, { projects: ['*'] }));
    expect(held.fence.runId).toBe(runId);
  });

  it('takes the larger priority first, then the one that waited longer', async () => {
    const first = await world().queuedRun();
    const second = await world().queuedRun();
    const taskId = `task-${randomUUID()}`;
    await world().tasks.publish(OPERATOR, PROJECT, taskId, publication());
    const urgent = await world().runs.start(OPERATOR, PROJECT, taskId, {
      mutationId: randomUUID(),
      priority: 5,
    });
    const worker = await world().worker();
    const order = [await world().claim(worker), await world().claim(worker), await world().claim(worker)];
    expect(order.map(({ fence }) => fence.runId)).toEqual([urgent.runId, first, second]);
  });

  it('is refused in a session that was replaced, has ended or is of another generation', async () => {
    const old = await world().worker();
    const current = await world().register(old.workerId, newSessionId());
    expect(await refusal(world(), () => world().leases.claim(old, ask(old)))).toBe('worker_session_fenced');
    const wrong = { ...current, generation: 7 };
    expect(await refusal(world(), () => world().leases.claim(wrong, ask(wrong)))).toBe(
      'worker_session_fenced',
    );
    await database().query('UPDATE worker_sessions SET expires_at_ms = 1 WHERE worker_id = $1', [
      old.workerId,
    ]);
    expect(await refusal(world(), () => world().leases.claim(current, ask(current)))).toBe(
      'worker_session_fenced',
    );
  });

  it('is refused for a revoked worker and for one that nobody put', async () => {
    const worker = await world().worker();
    await world().workers.put(OPERATOR, worker.workerId, {
      status: 'revoked',
      projects: [PROJECT],
      labels: {},
    });
    expect(await refusal(world(), () => world().leases.claim(worker, ask(worker)))).toBe(
      'worker_identity_mismatch',
    );
    const stranger = { ...worker, workerId: 'nobody' };
    expect(await refusal(world(), () => world().leases.claim(stranger, ask(stranger)))).toBe(
      'worker_identity_mismatch',
    );
  });

  it('has one winner for each attempt among many workers', async () => {
    const workers = await Promise.all(Array.from({ length: 8 }, () => world().worker()));
    const runIds = new Set<string>();
    for (let run = 0; run < 5; run += 1) runIds.add(await world().queuedRun());
    const answers = await Promise.all(workers.map((worker) => world().leases.claim(worker, ask(worker))));
    const won = answers.flatMap(({ offer }) => (offer ? [offer.candidate.runId] : []));
    expect(new Set(won).size).toBe(won.length);
    expect(won.every((runId) => runIds.has(runId))).toBe(true);
    expect(won.length).toBeGreaterThan(0);
  });

  it('has one winner when two workers use one offer id at the same moment', async () => {
    await world().queuedRun();
    await world().queuedRun();
    const one = await world().worker();
    const two = await world().worker();
    const offerId = randomUUID();
    const codes = await Promise.all([
      codeOf(world().leases.claim(one, ask(one, offerId))),
      codeOf(world().leases.claim(two, ask(two, offerId))),
    ]);
    expect(codes.sort()).toEqual(['no refusal', 'worker_offer_fenced']);
  });
});
