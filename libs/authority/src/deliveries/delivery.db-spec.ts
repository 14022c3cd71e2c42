import { randomUUID } from 'node:crypto';
import { createSecretReference, sha256Hex } from '@valise/contracts/documents';
import type { ValiseError } from '@valise/contracts/failure';
import { type Held, newLeaseToken, renewal } from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { BUNDLE, OPERATOR, PROJECT, SECRET } from '../../../../test/support/published-task.js';
import { codeOf, refusal } from '../../../../test/support/refusal.js';
import { newSessionId } from '../../../../test/support/worker-session.js';
import { useWorld } from '../../../../test/support/world.js';

const database = useDatabase();
const world = useWorld(database);

interface RecordRow {
  decision: string;
  denial: string | null;
  worker_id: string;
  session_id: string | null;
  run_id: string | null;
  attempt_id: string | null;
}

const recordsOf = (workerId: string): Promise<RecordRow[]> =>
  database().query<RecordRow>('SELECT * FROM delivery_records WHERE worker_id = $1 ORDER BY decided_at_ms', [
    workerId,
  ]);

async function deniedAs(held: Held, act: () => Promise<unknown>, workerId = held.worker.workerId) {
  const lease = await world().leaseOf(held);
  const attempt = await world().attemptOf(held);
  const code = await codeOf(act());
  const records = await recordsOf(workerId);
  expect(await world().leaseOf(held)).toEqual(lease);
  expect(await world().attemptOf(held)).toEqual(attempt);
  expect(records.filter(({ decision }) => decision === 'authorised')).toEqual([]);
  return { code, denial: records.at(-1)?.denial ?? null, record: records.at(-1) };
}

describe('a delivery', () => {
  it('is granted to the worker that holds the live lease, counted and on record', async () => {
    const held = await world().held('starting');
    const grant = await world().authorize(held);
    expect(grant).toMatchObject({
      runId: held.fence.runId,
      attemptId: held.fence.attemptId,
      offerId: held.fence.offerId,
      executionDigest: held.offer.executionDigest,
      secretRefs: [SECRET],
      environmentBundleRefs: [BUNDLE],
    });
    expect(await world().leaseOf(held)).toMatchObject({ authorisations: 1, version: 1 });
    expect(await world().records.list(PROJECT, held.fence.runId)).toEqual([
      {
        recordId: grant.recordId,
        workerId: held.worker.workerId,
        sessionId: held.worker.sessionId,
        runId: held.fence.runId,
        attemptId: held.fence.attemptId,
        decision: 'authorised',
        leaseGeneration: 1,
        secretCount: 1,
        bundleCount: 1,
        decidedAtMs: grant.decidedAtMs,
      },
    ]);
  });

  it('leaves no time beyond the end of the lease', async () => {
    const held = await world().held('starting');
    await database().query('UPDATE leases SET expires_at_ms = clock_ms() + 900 WHERE attempt_id = $1', [
      held.fence.attemptId,
    ]);
    const { respondByMs } = await world().authorize(held);
    expect(respondByMs - performance.now()).toBeLessThanOrEqual(900);
  });

  it('is granted again after it was sent, with a second record', async () => {
    const held = await world().held('starting');
    await world().deliveries.settle(await world().authorize(held), 'sent');
    await world().deliveries.settle(await world().authorize(held), 'aborted');
    const records = await world().records.list(PROJECT, held.fence.runId);
    expect(records.map(({ outcome }) => outcome)).toEqual(['sent', 'aborted']);
    expect(await world().leaseOf(held)).toMatchObject({ authorisations: 2 });
  });

  it('keeps the first word about what became of it', async () => {
    const held = await world().held('starting');
    const grant = await world().authorize(held);
    await world().deliveries.settle(grant, 'sent');
    await world().deliveries.settle(grant, 'custody_failed');
    expect(await world().records.list(PROJECT, held.fence.runId)).toMatchObject([{ outcome: 'sent' }]);
    expect(await world().leaseOf(held)).toMatchObject({ authorisations: 1 });
  });

  it('is one at a time: while the last one is on its way, another is put off and not counted', async () => {
    const held = await world().held('starting');
    await world().authorize(held);
    expect(await refusal(world(), () => world().authorize(held))).toBe('worker_secret_delivery_unavailable');
  });

  it('is granted anew once the response deadline of the last one has passed without a word', async () => {
    const held = await world().held('starting');
    await world().authorize(held);
    await database().query('UPDATE leases SET open_since_ms = open_since_ms - 5000 WHERE attempt_id = $1', [
      held.fence.attemptId,
    ]);
    await world().authorize(held);
    expect(await world().leaseOf(held)).toMatchObject({ authorisations: 2 });
  });

  it('gives its authorisation back when the secret could not be read', async () => {
    const held = await world().held('starting');
    await world().deliveries.settle(await world().authorize(held), 'custody_failed');
    expect(await world().leaseOf(held)).toMatchObject({ authorisations: 0, open_record_id: null });
  });

  it('gives nothing back to a claim that came after it', async () => {
    const held = await world().held('starting');
    const grant = await world().authorize(held);
    await world().attempts.startFailure(held.worker, { ...held.fence, reasonCode: 'worker_shutdown' });
    const next = await world().claim(held.worker);
    await world().attempts.starting(next.worker, next.fence);
    await world().authorize(next);
    await world().deliveries.settle(grant, 'custody_failed');
    expect(await world().leaseOf(next)).toMatchObject({ authorisations: 1 });
  });

  it('is denied the ninth time', async () => {
    const held = await world().held('starting');
    for (let time = 0; time < 8; time += 1) {
      await world().deliveries.settle(await world().authorize(held), 'sent');
    }
    expect(await codeOf(world().authorize(held))).toBe('delivery_budget_exhausted');
    expect((await recordsOf(held.worker.workerId)).at(-1)).toMatchObject({
      decision: 'denied',
      denial: 'delivery_budget_exhausted',
    });
    expect(await world().leaseOf(held)).toMatchObject({ authorisations: 8 });
  });

  it('is denied once custody has failed its claim five times, and not to the next claim', async () => {
    const held = await world().held('starting');
    for (let time = 0; time < 5; time += 1) {
      await world().deliveries.settle(await world().authorize(held), 'custody_failed');
    }
    expect(await codeOf(world().authorize(held))).toBe('delivery_budget_exhausted');
    expect((await recordsOf(held.worker.workerId)).at(-1)).toMatchObject({
      decision: 'denied',
      denial: 'delivery_budget_exhausted',
    });
    expect(await world().leaseOf(held)).toMatchObject({ authorisations: 0, custody_failures: 5 });
    await world().attempts.startFailure(held.worker, { ...held.fence, reasonCode: 'worker_shutdown' });
    const next = await world().claim(held.worker);
    await world().attempts.starting(next.worker, next.fence);
    expect((await world().authorize(next)).secretRefs).toEqual([SECRET]);
  });

  it('leaves no more than its budget of records, however often it is asked for', async () => {
    const held = await world().held('starting');
    const codes = [];
    for (let time = 0; time < 40; time += 1) {
      try {
        await world().deliveries.settle(await world().authorize(held), 'custody_failed');
      } catch (error) {
        codes.push((error as ValiseError).code);
      }
    }
    expect(codes).toHaveLength(35);
    expect(await recordsOf(held.worker.workerId)).toHaveLength(15);
  });

  const foreign = createSecretReference({ projectId: PROJECT, name: 'other' });
  it.each([
    ['another worker generation', { workerGeneration: 2 }, 'worker_generation_mismatch'],
    ['another run', { runId: randomUUID() }, 'run_mismatch'],
    ['another task', { taskId: 'task-x' }, 'task_mismatch'],
    ['another task revision', { taskRevision: 'qltd:v1:2:00' }, 'task_mismatch'],
    ['another execution digest', { executionDigest: sha256Hex('x') }, 'execution_digest_mismatch'],
    ['another offer', { offerId: randomUUID() }, 'offer_mismatch'],
    ['another lease generation', { leaseGeneration: 2 }, 'lease_generation_mismatch'],
    ['another token', { leaseToken: newLeaseToken() }, 'token_mismatch'],
    ['an older version', { expectedLeaseVersion: 0 }, 'lease_version_mismatch'],
    ['a later version', { expectedLeaseVersion: 2 }, 'lease_version_mismatch'],
    ['a missing reference', { secretRefs: [] }, 'secret_scope_mismatch'],
    ['an added reference', { secretRefs: [SECRET, foreign] }, 'secret_scope_mismatch'],
    ['a swapped reference', { secretRefs: [foreign] }, 'secret_scope_mismatch'],
    ['the bundle left out', { environmentBundleRefs: [] }, 'secret_scope_mismatch'],
  ])('is denied for %s, alike on the wire and told apart in the record', async (_what, change, denial) => {
    const held = await world().held('starting');
    expect(await deniedAs(held, () => world().authorize(held, change))).toMatchObject({
      code: 'worker_secret_delivery_fenced',
      denial,
    });
  });

  it('is denied for references in another order', async () => {
    const second = createSecretReference({ projectId: PROJECT, name: 'second' });
    const environment = [
      { name: 'A', kind: 'secret', secretRef: SECRET },
      { name: 'B', kind: 'secret', secretRef: second },
    ];
    const config = { command: { kind: 'argv', file: '/bin/true', args: [] }, environment };
    const held = await world().held('starting', { spec: { schema: 'qinglong/command@v1', config } });
    const asked = { secretRefs: [second, SECRET], environmentBundleRefs: [] };
    expect(await deniedAs(held, () => world().authorize(held, asked))).toMatchObject({
      denial: 'secret_scope_mismatch',
    });
    const right = { secretRefs: [SECRET, second], environmentBundleRefs: [] };
    expect((await world().authorize(held, right)).secretRefs).toEqual([SECRET, second]);
  });

  it('is denied when the lease has expired', async () => {
    const held = await world().held('starting');
    await world().expireLease(held);
    expect(await deniedAs(held, () => world().authorize(held))).toMatchObject({ denial: 'lease_expired' });
  });

  it('is denied before starting is acknowledged, and once the process runs', async () => {
    const claimed = await world().held('claimed');
    expect(await deniedAs(claimed, () => world().authorize(claimed))).toMatchObject({
      denial: 'attempt_not_starting',
    });
    const running = await world().held('running');
    expect(await deniedAs(running, () => world().authorize(running))).toMatchObject({
      denial: 'attempt_not_starting',
    });
  });

  it('is denied once cancellation is requested, even with the version after it', async () => {
    const held = await world().held('starting');
    await world().runs.cancel(OPERATOR, PROJECT, held.fence.runId, { mutationId: randomUUID() });
    expect(await deniedAs(held, () => world().authorize(held, { expectedLeaseVersion: 2 }))).toMatchObject({
      denial: 'stop_requested',
    });
    const { leaseVersion } = await world().leases.renew(held.worker, renewal(held));
    expect(
      await deniedAs(held, () => world().authorize(held, { expectedLeaseVersion: leaseVersion })),
    ).toMatchObject({ denial: 'stop_requested' });
  });

  it('is denied to another worker that knows everything', async () => {
    const held = await world().held('starting');
    const thief = await world().worker();
    const stolen = { ...held, worker: thief };
    const { denial, record } = await deniedAs(held, () => world().authorize(stolen), thief.workerId);
    expect(denial).toBe('lease_not_held');
    expect(record).toMatchObject({ attempt_id: held.fence.attemptId, session_id: thief.sessionId });
  });

  it('is denied once the worker may not serve the project, and once it is revoked', async () => {
    const held = await world().held('starting');
    const { workerId } = held.worker;
    await world().workers.put(OPERATOR, workerId, { status: 'active', projects: ['another'], labels: {} });
    expect(await deniedAs(held, () => world().authorize(held))).toMatchObject({
      denial: 'project_not_allowed',
    });
    await world().workers.put(OPERATOR, workerId, { status: 'revoked', projects: [PROJECT], labels: {} });
    expect(await deniedAs(held, () => world().authorize(held))).toMatchObject({ denial: 'worker_revoked' });
  });

  it('goes on while the worker and its session are draining', async () => {
    const held = await world().held('starting');
    const { workerId, generation } = held.worker;
    await world().workers.put(OPERATOR, workerId, { status: 'draining', projects: [PROJECT], labels: {} });
    await world().sessions.transition(held.worker, {
      schema: 'qinglong/worker-session-transition@v1',
      generation,
      expectedVersion: 0,
      status: 'offline',
    });
    expect((await world().authorize(held)).secretRefs).toEqual([SECRET]);
  });

  it('is denied to a session that was replaced', async () => {
    const held = await world().held('starting');
    await world().register(held.worker.workerId, newSessionId());
    expect(await deniedAs(held, () => world().authorize(held))).toMatchObject({ denial: 'session_mismatch' });
  });

  it('is denied for an attempt that is not there, without keeping what the worker wrote', async () => {
    const held = await world().held('starting');
    const { record } = await deniedAs(held, () => world().authorize(held, { attemptId: 'invented' }));
    expect(record).toMatchObject({ denial: 'attempt_unknown', attempt_id: null, run_id: null });
  });

  it('is denied to a worker that no operator ever put', async () => {
    const held = await world().held('starting');
    const stranger = { ...held, worker: { ...held.worker, workerId: 'stranger' } };
    expect(await deniedAs(held, () => world().authorize(stranger), 'stranger')).toMatchObject({
      denial: 'worker_unknown',
    });
  });

  it('is malformed, and not on record, when it asks for another project’s secret or for none', async () => {
    const held = await world().held('starting');
    const other = createSecretReference({ projectId: 'another', name: 'token' });
    for (const change of [{ secretRefs: [other] }, { secretRefs: [], environmentBundleRefs: [] }]) {
      expect(await refusal(world(), () => world().authorize(held, change))).toBe(
        'REMOTE_SECRET_DELIVERY_INVALID',
      );
    }
  });

  it('is rate-limited past ten denials a minute, which the sweeper counts in one audit event', async () => {
    const held = await world().held('starting');
    const ask = () => codeOf(world().authorize(held, { leaseToken: newLeaseToken() }));
    const codes = [];
    for (let time = 0; time < 13; time += 1) codes.push(await ask());
    expect(codes.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 'worker_secret_delivery_fenced'));
    expect(codes.slice(10)).toEqual(['rate_limited', 'rate_limited', 'rate_limited']);
    expect(await recordsOf(held.worker.workerId)).toHaveLength(10);
    expect((await world().authorize(held)).secretRefs).toEqual([SECRET]);
    const { workerId } = held.worker;
    await database().query('UPDATE denial_windows SET started_at_ms = 0 WHERE worker_id = $1', [workerId]);
    await world().sweeper.sweep();
    await world().sweeper.sweep();
    const counted = await database().query(
      `SELECT facts FROM audit_events WHERE action = 'count_denials' AND subject_id = $1`,
      [workerId],
    );
    expect(counted).toEqual([{ facts: { denials: 3 } }]);
  });

  it('is not granted when its record cannot be written', async () => {
    const held = await world().held('starting');
    await database().query('REVOKE INSERT ON delivery_records FROM valise_ingress');
    try {
      await expect(world().authorize(held)).rejects.toThrow('sqlState=42501');
    } finally {
      await database().query('GRANT INSERT ON delivery_records TO valise_ingress');
    }
    expect(await world().leaseOf(held)).toMatchObject({ authorisations: 0 });
  });
});
