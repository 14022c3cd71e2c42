import { randomUUID } from 'node:crypto';
import { newLeaseToken, renewal } from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { OPERATOR, PROJECT } from '../../../../test/support/published-task.js';
import { refusal } from '../../../../test/support/refusal.js';
import { newSessionId } from '../../../../test/support/worker-session.js';
import { useWorld } from '../../../../test/support/world.js';

const database = useDatabase();
const world = useWorld(database);

/** Nothing is queued, and nobody holds anything. */
afterEach(async () => {
  await database().query(
    `UPDATE attempts SET status = 'failed' WHERE status IN ('queued', 'claimed', 'starting')`,
  );
  await database().query(`UPDATE leases SET state = 'completed' WHERE state = 'leased'`);
});

describe('a renewal', () => {
  it('moves expiry and version, and may be repeated as it was', async () => {
    const held = await world().held();
    const first = await world().leases.renew(held.worker, renewal(held));
    expect(first).toMatchObject({ status: 'renewed', leaseVersion: 2 });
    expect(first.expiresAtMs).toBeGreaterThanOrEqual(held.offer.lease.expiresAtMs);
    const again = await world().leases.renew(held.worker, renewal(held));
    expect(again).toMatchObject({ status: 'renewed', leaseVersion: 3 });
  });

  it('is refused once the lease has expired, though nobody took it', async () => {
    const held = await world().held();
    await world().expireLease(held);
    expect(await refusal(world(), () => world().leases.renew(held.worker, renewal(held)))).toBe(
      'worker_lease_control_fenced',
    );
  });

  it.each([
    ['another token', { leaseToken: newLeaseToken() }],
    ['another offer', { offerId: randomUUID() }],
    ['another lease generation', { leaseGeneration: 2 }],
    ['another worker generation', { workerGeneration: 2 }],
    ['a version that never was', { expectedLeaseVersion: 2 }],
    ['another project', { projectId: 'another-project' }],
    ['another run', { runId: randomUUID() }],
    ['an attempt that is not there', { attemptId: 'nothing' }],
  ])('is refused with %s', async (_what, change) => {
    const held = await world().held();
    const request = { ...renewal(held), ...change };
    expect(await refusal(world(), () => world().leases.renew(held.worker, request))).toBe(
      'worker_lease_control_fenced',
    );
  });

  it('is refused to another worker and to a later session of the same one', async () => {
    const held = await world().held();
    const other = await world().worker();
    expect(await refusal(world(), () => world().leases.renew(other, renewal(held)))).toBe(
      'worker_lease_control_fenced',
    );
    const later = await world().register(held.worker.workerId, newSessionId());
    const request = { ...renewal(held), workerGeneration: later.generation };
    expect(await refusal(world(), () => world().leases.renew(later, request))).toBe(
      'worker_lease_control_fenced',
    );
  });

  it('is refused after the worker was revoked', async () => {
    const held = await world().held();
    await world().workers.put(OPERATOR, held.worker.workerId, {
      status: 'revoked',
      projects: [],
      labels: {},
    });
    expect(await refusal(world(), () => world().leases.renew(held.worker, renewal(held)))).toBe(
      'worker_lease_control_fenced',
    );
  });

  it('extends the lease and says that the operator asked to stop', async () => {
    const held = await world().held();
    await world().runs.cancel(OPERATOR, PROJECT, held.fence.runId, { mutationId: randomUUID() });
    expect(await world().leases.renew(held.worker, renewal(held))).toMatchObject({
      status: 'stop_requested',
      stop: { reason: 'user' },
      leaseVersion: 3,
    });
  });

  it('answers terminal once the attempt has ended', async () => {
    const held = await world().held();
    await world().attempts.startFailure(held.worker, held.fence);
    const before = await world().snapshot();
    expect(await world().leases.renew(held.worker, renewal(held))).toMatchObject({ status: 'terminal' });
    expect(await world().snapshot()).toEqual(before);
  });

  it('is refused to the worker that gave the attempt back', async () => {
    const held = await world().held();
    await world().attempts.startFailure(held.worker, { ...held.fence, reasonCode: 'lease_lost' });
    expect(await refusal(world(), () => world().leases.renew(held.worker, renewal(held)))).toBe(
      'worker_lease_control_fenced',
    );
  });
});
