import { randomUUID } from 'node:crypto';
import { sha256Hex } from '@valise/contracts/documents';
import {
  artifactOf,
  completion,
  type Held,
  newLeaseToken,
  running,
  upload,
} from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { OPERATOR, plainSpec, PROJECT } from '../../../../test/support/published-task.js';
import { refusal } from '../../../../test/support/refusal.js';
import { newSessionId, type TestWorker } from '../../../../test/support/worker-session.js';
import { useWorld } from '../../../../test/support/world.js';

const database = useDatabase();
const world = useWorld(database);

afterEach(() => database().query(`UPDATE attempts SET status = 'failed' WHERE status = 'queued'`));

const cancel = (held: Held) =>
  world().runs.cancel(OPERATOR, PROJECT, held.fence.runId, { mutationId: randomUUID() });
const requestStop = (held: Held) =>
  database().query('UPDATE runs SET stop_requested_at_ms = 1 WHERE run_id = $1', [held.fence.runId]);
const revoke = (held: Held) =>
  world().workers.put(OPERATOR, held.worker.workerId, { status: 'revoked', projects: [PROJECT], labels: {} });
const lateReports = (held: Held) =>
  database().query<{ kind: string; attempt_status: string }>(
    'SELECT kind, attempt_status, outcome, reason_code FROM late_reports WHERE attempt_id = $1',
    [held.fence.attemptId],
  );
/** The same worker in a later session, with the claim it remembers. */
const reborn = async (held: Held): Promise<Held> => {
  const worker: TestWorker = await world().register(held.worker.workerId, newSessionId());
  return { ...held, worker };
};

const WRONG_FENCES: [string, Partial<Held['fence']>][] = [
  ['another token', { leaseToken: newLeaseToken() }],
  ['another offer', { offerId: randomUUID() }],
  ['another lease generation', { leaseGeneration: 2 }],
  ['another worker generation', { workerGeneration: 2 }],
  ['another run', { runId: randomUUID() }],
  ['a version that never was', { expectedLeaseVersion: 99 }],
];

const MOVES: [string, 'claimed' | 'starting' | 'running', (held: Held) => Promise<unknown>][] = [
  ['starting', 'claimed', (held) => world().attempts.starting(held.worker, held.fence)],
  ['running', 'starting', (held) => world().attempts.running(held.worker, running(held))],
  ['failing to start', 'starting', (held) => world().attempts.startFailure(held.worker, held.fence)],
  [
    'going back to the queue',
    'claimed',
    (held) =>
      world().attempts.startFailure(held.worker, { ...held.fence, reasonCode: 'worker_shutdown' as const }),
  ],
  ['completing', 'running', (held) => world().attempts.complete(held.worker, completion(held))],
];

describe('an attempt that is not its run’s newest', () => {
  it.each(MOVES)('leaves the run alone when it is %s', async (_what, state, move) => {
    const held = await world().held(state, { spec: plainSpec({ timeoutMs: 60_000 }) });
    await database().query(
      `UPDATE runs SET newest_attempt_number = 2, status = 'queued', deadline_at_ms = 7 WHERE run_id = $1`,
      [held.fence.runId],
    );
    const before = await world().runOf(held);
    const { status } = await world().attemptOf(held);
    await move(held);
    expect((await world().attemptOf(held)).status).not.toBe(status);
    expect(await world().runOf(held)).toEqual(before);
  });
});

describe('starting', () => {
  it('starts the attempt and sets the deadline from the plan', async () => {
    const held = await world().held('claimed', { spec: plainSpec({ timeoutMs: 60_000 }) });
    const { status, snapshot } = await world().attempts.starting(held.worker, held.fence);
    expect(status).toBe('applied');
    expect(snapshot).toMatchObject({ runStatus: 'dispatching', attemptStatus: 'starting', leaseVersion: 1 });
    expect(snapshot.deadlineAtMs).toBeGreaterThan(held.offer.lease.acquiredAtMs + 59_000);
  });

  it('is answered with the current truth when it is repeated', async () => {
    const held = await world().held('starting');
    expect(await world().attempts.starting(held.worker, held.fence)).toMatchObject({
      status: 'already_starting',
    });
    await world().attempts.running(held.worker, running(held));
    expect(await world().attempts.starting(held.worker, held.fence)).toMatchObject({
      status: 'already_running',
    });
    await world().attempts.complete(held.worker, completion(held));
    expect(await world().attempts.starting(held.worker, held.fence)).toMatchObject({
      status: 'already_terminal',
    });
  });

  it.each(WRONG_FENCES)('is fenced with %s', async (_what, change) => {
    const held = await world().held();
    const request = { ...held.fence, ...change };
    expect(await refusal(world(), () => world().attempts.starting(held.worker, request))).toBe(
      'worker_activation_fenced',
    );
  });

  it('is fenced for another worker, an expired lease, a later session and a revoked worker', async () => {
    const held = await world().held();
    const other = await world().worker();
    const starting = (worker: TestWorker) => () => world().attempts.starting(worker, held.fence);
    expect(await refusal(world(), starting(other))).toBe('worker_activation_fenced');
    await world().expireLease(held);
    expect(await refusal(world(), starting(held.worker))).toBe('worker_activation_fenced');
    const later = await reborn(held);
    expect(await refusal(world(), starting(later.worker))).toBe('worker_activation_fenced');
    const revoked = await world().held();
    await revoke(revoked);
    expect(await refusal(world(), () => world().attempts.starting(revoked.worker, revoked.fence))).toBe(
      'worker_activation_fenced',
    );
  });
});

describe('running', () => {
  it('moves attempt and run, and keeps what it says of the process', async () => {
    const held = await world().held('starting');
    const { status, snapshot } = await world().attempts.running(held.worker, running(held));
    expect(status).toBe('applied');
    expect(snapshot).toMatchObject({
      runStatus: 'running',
      attemptStatus: 'running',
      callbackSequence: 1,
      executorHandle: 'slot 0 pid 42',
      logArtifactId: running(held).logArtifactId,
    });
    expect(snapshot.startedAtMs).toBeGreaterThan(0);
  });

  it('may be repeated, but not with another callback', async () => {
    const held = await world().held('running');
    expect(await world().attempts.running(held.worker, running(held))).toMatchObject({
      status: 'already_running',
    });
    const other = { ...running(held), callbackTokenDigest: sha256Hex('another') };
    expect(await refusal(world(), () => world().attempts.running(held.worker, other))).toBe(
      'worker_activation_fenced',
    );
  });

  it('is fenced before starting, and with an expired lease', async () => {
    const claimed = await world().held('claimed');
    expect(await refusal(world(), () => world().attempts.running(claimed.worker, running(claimed)))).toBe(
      'worker_activation_fenced',
    );
    const expired = await world().held('starting');
    await world().expireLease(expired);
    expect(await refusal(world(), () => world().attempts.running(expired.worker, running(expired)))).toBe(
      'worker_activation_fenced',
    );
  });

  it('is refused with the name of another log', async () => {
    const held = await world().held('starting');
    const request = { ...running(held), logArtifactId: `wlog-${'0'.repeat(30)}` };
    expect(await refusal(world(), () => world().attempts.running(held.worker, request))).toBe(
      'invalid_worker_request',
    );
  });
});

describe('a start-failure', () => {
  it.each([
    ['claimed', 'secret_unavailable'],
    ['starting', 'environment_name_refused'],
    ['starting', undefined],
  ] as const)('ends a %s attempt as failed, with its reason %s', async (state, reasonCode) => {
    const held = await world().held(state);
    const request = { ...held.fence, ...(reasonCode && { reasonCode }) };
    expect(await world().attempts.startFailure(held.worker, request)).toMatchObject({
      status: 'applied',
      snapshot: { runStatus: 'failed', attemptStatus: 'failed', leaseVersion: 2 },
    });
    expect(await world().attemptOf(held)).toMatchObject({ reason_code: reasonCode ?? null });
    expect(await world().leaseOf(held)).toMatchObject({ state: 'completed' });
  });

  it.each(['lease_lost', 'worker_restarted', 'worker_shutdown'] as const)(
    'with %s gives the attempt back to the queue at its place',
    async (reasonCode) => {
      const held = await world().held('starting', { spec: plainSpec({ timeoutMs: 60_000 }) });
      const { queued_at_ms: queuedAtMs } = await world().attemptOf(held);
      const request = { ...held.fence, reasonCode };
      expect(await world().attempts.startFailure(held.worker, request)).toMatchObject({
        status: 'applied',
        snapshot: { runStatus: 'queued', attemptStatus: 'queued' },
      });
      expect(await world().runOf(held)).toMatchObject({ deadline_at_ms: null, stop_requested_at_ms: null });
      expect(await world().attemptOf(held)).toMatchObject({ queued_at_ms: queuedAtMs });
      expect(await world().leaseOf(held)).toMatchObject({ state: 'released', version: 2 });
      const again = await world().claim(await world().worker());
      expect(again.fence).toMatchObject({ attemptId: held.fence.attemptId, leaseGeneration: 2 });
    },
  );

  it('does not requeue what was cancelled or timed out', async () => {
    const cancelled = await world().held();
    await cancel(cancelled);
    const vouched = { reasonCode: 'worker_restarted' as const };
    expect(
      (await world().attempts.startFailure(cancelled.worker, { ...cancelled.fence, ...vouched })).snapshot,
    ).toMatchObject({ runStatus: 'cancelled', attemptStatus: 'cancelled' });
    const late = await world().held('starting');
    await requestStop(late);
    expect(
      (await world().attempts.startFailure(late.worker, { ...late.fence, ...vouched })).snapshot,
    ).toMatchObject({ runStatus: 'timed_out', attemptStatus: 'timed_out' });
  });

  it('fails an attempt that has been claimed five times, for want of a worker', async () => {
    const worker = await world().worker();
    await world().queuedRun();
    let held = await world().claim(worker);
    for (let claims = 1; claims < 5; claims += 1) {
      await world().attempts.startFailure(worker, { ...held.fence, reasonCode: 'worker_shutdown' });
      held = await world().claim(worker);
    }
    const last = { ...held.fence, reasonCode: 'worker_shutdown' as const };
    expect((await world().attempts.startFailure(worker, last)).snapshot).toMatchObject({
      attemptStatus: 'failed',
      runStatus: 'failed',
      errorCode: 'worker_unavailable',
    });
  });

  it('is taken from a former holder, however long the lease has expired', async () => {
    const held = await reborn(await world().held('starting'));
    await world().expireLease(held);
    const request = { ...held.fence, reasonCode: 'worker_restarted' as const };
    expect((await world().attempts.startFailure(held.worker, request)).snapshot).toMatchObject({
      attemptStatus: 'queued',
    });
  });

  it('may be repeated, and says the same', async () => {
    const failed = await world().held();
    await world().attempts.startFailure(failed.worker, failed.fence);
    const queued = await world().held();
    const vouched = { ...queued.fence, reasonCode: 'worker_restarted' as const };
    await world().attempts.startFailure(queued.worker, vouched);
    const before = await world().snapshot();
    expect(await world().attempts.startFailure(failed.worker, failed.fence)).toMatchObject({
      status: 'already_terminal',
    });
    expect(await world().attempts.startFailure(queued.worker, vouched)).toMatchObject({ status: 'applied' });
    expect(await world().snapshot()).toEqual(before);
  });

  it('changes nothing once another claim has begun, and is kept once as a late report', async () => {
    const held = await world().held();
    await world().attempts.startFailure(held.worker, { ...held.fence, reasonCode: 'worker_restarted' });
    const next = await world().claim(await world().worker());
    const lease = await world().leaseOf(next);
    for (let time = 0; time < 2; time += 1) {
      expect(await world().attempts.startFailure(held.worker, held.fence)).toMatchObject({
        status: 'already_terminal',
        snapshot: { attemptStatus: 'claimed' },
      });
    }
    expect(await world().leaseOf(next)).toEqual(lease);
    expect(await lateReports(held)).toMatchObject([{ kind: 'start_failure', attempt_status: 'claimed' }]);
  });

  it('of a revoked worker changes nothing and is kept as a late report', async () => {
    const held = await world().held();
    await revoke(held);
    expect(await world().attempts.startFailure(held.worker, held.fence)).toMatchObject({
      status: 'already_terminal',
    });
    expect(await world().attemptOf(held)).toMatchObject({ status: 'claimed' });
    expect(await lateReports(held)).toHaveLength(1);
  });

  it('is fenced once the process runs', async () => {
    const held = await world().held('running');
    expect(await refusal(world(), () => world().attempts.startFailure(held.worker, held.fence))).toBe(
      'worker_activation_fenced',
    );
  });

  it.each(WRONG_FENCES)('is fenced with %s', async (_what, change) => {
    const held = await world().held();
    const request = { ...held.fence, ...change };
    expect(await refusal(world(), () => world().attempts.startFailure(held.worker, request))).toBe(
      'worker_activation_fenced',
    );
  });
});

describe('a completion', () => {
  it('ends attempt, run and lease', async () => {
    const held = await world().held('running');
    expect(await world().attempts.complete(held.worker, completion(held))).toMatchObject({
      status: 'applied',
      callbackSequence: 2,
    });
    expect(await world().runOf(held)).toMatchObject({ status: 'succeeded' });
    expect(await world().attemptOf(held)).toMatchObject({ status: 'succeeded', exit_code: 0 });
    expect(await world().leaseOf(held)).toMatchObject({ state: 'completed', version: 2 });
  });

  const bytes = Buffer.from('the log');
  const receipt = { byteLength: bytes.length, sha256: sha256Hex(bytes), truncated: false };
  const stored = async (held: Held) => {
    async function* content() {
      yield await Promise.resolve(bytes);
    }
    await world().artifacts.store(held.worker, upload(held, bytes.length), content());
  };
  it.each<[string, boolean, Partial<typeof receipt>, boolean]>([
    ['names the log that was stored', true, {}, true],
    ['names no log that was never stored, and ends all the same', false, {}, false],
    ['names no log of another length than the stored one', true, { byteLength: 6 }, false],
    ['names no log of other bytes than the stored ones', true, { sha256: sha256Hex('x') }, false],
    ['names an empty log, which needs no bytes', false, { byteLength: 0, sha256: sha256Hex('') }, true],
    ['names no empty log where another is stored', true, { byteLength: 0, sha256: sha256Hex('') }, false],
  ])('%s', async (_what, isStored, change, named) => {
    const held = await world().held('running');
    const logArtifactId = artifactOf(held);
    if (isStored) await stored(held);
    const request = completion(held, { artifact: { logArtifactId, ...receipt, ...change } });
    expect(await world().attempts.complete(held.worker, request)).toMatchObject({ status: 'applied' });
    const { status, attempts } = await world().runs.get(PROJECT, held.fence.runId);
    expect(status).toBe('succeeded');
    expect(attempts[0]?.logArtifactId).toBe(named ? logArtifactId : undefined);
    expect(await world().attempts.complete(held.worker, request)).toMatchObject({
      status: 'already_completed',
    });
  });

  const result = (outcome: 'succeeded' | 'failed' | 'cancelled' | 'timed_out', exitCode: number | null) => ({
    result: { outcome, exitCode, startedAtMs: 1, finishedAtMs: 2 },
  });
  it.each<[string, (held: Held) => Promise<unknown>, ReturnType<typeof result>, string]>([
    ['failed', () => Promise.resolve(), result('failed', 3), 'failed'],
    ['cancelled as failed, when nobody asked', () => Promise.resolve(), result('cancelled', 143), 'failed'],
    ['cancelled, when the operator asked', cancel, result('cancelled', null), 'cancelled'],
    ['succeeded after a cancellation, with exit 0', cancel, result('succeeded', 0), 'succeeded'],
    ['succeeded, when it says cancelled with exit 0', cancel, result('cancelled', 0), 'succeeded'],
    ['timed out as failed, when nobody asked', () => Promise.resolve(), result('timed_out', 143), 'failed'],
    ['timed out, when that stop was requested', requestStop, result('timed_out', null), 'timed_out'],
  ])('counts %s', async (_what, before, change, status) => {
    const held = await world().held('running');
    await before(held);
    await world().attempts.complete(held.worker, completion(held, change));
    expect(await world().attemptOf(held)).toMatchObject({ status });
    expect(await world().runOf(held)).toMatchObject({ status });
  });

  it('is taken when running never arrived, with the callback token as first seen', async () => {
    const held = await world().held('starting');
    await world().attempts.complete(held.worker, completion(held));
    expect(await world().attemptOf(held)).toMatchObject({
      status: 'succeeded',
      callback_token_digest: completion(held).callbackTokenDigest,
    });
  });

  it('is taken from a former holder, however long the lease has expired', async () => {
    const held = await reborn(await world().held('running'));
    await world().expireLease(held);
    expect(await world().attempts.complete(held.worker, completion(held))).toMatchObject({
      status: 'applied',
    });
    const named = await reborn(await world().held('running'));
    const fence = { ...named.fence, workerGeneration: named.worker.generation };
    expect(await world().attempts.complete(named.worker, completion({ ...named, fence }))).toMatchObject({
      status: 'applied',
    });
  });

  it('is answered as the same when it is repeated', async () => {
    const held = await world().held('running');
    await world().attempts.complete(held.worker, completion(held));
    const before = await world().snapshot();
    expect(await world().attempts.complete(held.worker, completion(held))).toMatchObject({
      status: 'already_completed',
      callbackSequence: 2,
    });
    expect(await world().snapshot()).toEqual(before);
  });

  it('that comes after the attempt was lost changes nothing and is kept once', async () => {
    const held = await world().held('running');
    await world().expireLease(held);
    await world().sweeper.sweep();
    for (let time = 0; time < 2; time += 1) {
      expect(await world().attempts.complete(held.worker, completion(held))).toMatchObject({
        status: 'already_terminal',
      });
    }
    expect(await world().attemptOf(held)).toMatchObject({ status: 'lost' });
    expect(await lateReports(held)).toMatchObject([{ kind: 'completion', attempt_status: 'lost' }]);
  });

  it('of a revoked worker changes nothing and is kept as a late report', async () => {
    const held = await world().held('running');
    await revoke(held);
    expect(await world().attempts.complete(held.worker, completion(held))).toMatchObject({
      status: 'already_terminal',
    });
    expect(await world().attemptOf(held)).toMatchObject({ status: 'running' });
    expect(await lateReports(held)).toHaveLength(1);
  });

  it('does not move a run that has gone on to its next attempt', async () => {
    const held = await world().held('running');
    await world().expireLease(held);
    await world().sweeper.sweep();
    const confirmed = { mutationId: randomUUID(), previousMayStillRun: true };
    await world().runs.retry(OPERATOR, PROJECT, held.fence.runId, confirmed);
    await world().attempts.complete(held.worker, completion(held));
    expect(await world().runOf(held)).toMatchObject({ status: 'queued', newest_attempt_number: 2 });
  });

  it.each<[string, Partial<ReturnType<typeof completion>>, string]>([
    ['another callback token', { callbackTokenDigest: sha256Hex('another') }, 'worker_completion_fenced'],
    ['an older callback sequence', { callbackSequence: 0 }, 'worker_completion_fenced'],
    [
      'another log',
      { artifact: { logArtifactId: `wlog-${'0'.repeat(30)}`, byteLength: 0, sha256: '', truncated: false } },
      'invalid_worker_request',
    ],
    ...WRONG_FENCES.map(([what, change]): [string, Partial<ReturnType<typeof completion>>, string] => [
      what,
      change,
      'worker_completion_fenced',
    ]),
  ])('is refused with %s', async (_what, change, code) => {
    const held = await world().held('running');
    const request = completion(held, change);
    expect(await refusal(world(), () => world().attempts.complete(held.worker, request))).toBe(code);
  });

  it('is fenced for an attempt that is only claimed, and for another worker', async () => {
    const claimed = await world().held('claimed');
    expect(await refusal(world(), () => world().attempts.complete(claimed.worker, completion(claimed)))).toBe(
      'worker_completion_fenced',
    );
    const held = await world().held('running');
    const other = await world().worker();
    expect(await refusal(world(), () => world().attempts.complete(other, completion(held)))).toBe(
      'worker_completion_fenced',
    );
  });
});
