import { randomUUID } from 'node:crypto';
import { completion, type Held } from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { OPERATOR, PROJECT, publication } from '../../../../test/support/published-task.js';
import { codeOf, refusal } from '../../../../test/support/refusal.js';
import { useWorld } from '../../../../test/support/world.js';

const database = useDatabase();
const world = useWorld(database);

const mutation = () => ({ mutationId: randomUUID() });
const publish = async () => {
  const taskId = `task-${randomUUID()}`;
  await world().tasks.publish(OPERATOR, PROJECT, taskId, publication());
  return taskId;
};
const lose = async (held: Held) => {
  await world().expireLease(held);
  await world().sweeper.sweep();
};

afterEach(() => database().query(`UPDATE attempts SET status = 'failed' WHERE status = 'queued'`));

describe('starting a run', () => {
  it('queues attempt 1 of the current revision', async () => {
    const run = await world().runs.start(OPERATOR, PROJECT, await publish(), { ...mutation(), priority: 7 });
    expect(run).toMatchObject({ status: 'queued', outcome: 'applied', attempts: [{ attemptNumber: 1 }] });
    expect(run).toMatchObject(await world().runs.get(PROJECT, run.runId));
  });

  it('is answered as a replay when it is repeated, once or at the same moment', async () => {
    const taskId = await publish();
    const request = mutation();
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => world().runs.start(OPERATOR, PROJECT, taskId, request)),
    );
    expect(new Set(answers.map(({ runId }) => runId)).size).toBe(1);
    expect(answers.filter(({ outcome }) => outcome === 'applied')).toHaveLength(1);
    const before = await world().snapshot();
    await world().runs.start(OPERATOR, PROJECT, taskId, request);
    expect(await world().snapshot()).toEqual(before);
  });

  it('is refused when the mutation id was used for something else', async () => {
    const taskId = await publish();
    const request = mutation();
    const { runId } = await world().runs.start(OPERATOR, PROJECT, taskId, request);
    const again = () => world().runs.start(OPERATOR, PROJECT, taskId, { ...request, priority: 1 });
    expect(await refusal(world(), again)).toBe('mutation_conflict');
    expect(await refusal(world(), () => world().runs.cancel(OPERATOR, PROJECT, runId, request))).toBe(
      'mutation_conflict',
    );
  });

  it('is refused for a task that is not there', async () => {
    expect(await refusal(world(), () => world().runs.start(OPERATOR, PROJECT, 'nothing', mutation()))).toBe(
      'not_found',
    );
  });
});

describe('cancelling', () => {
  it('ends a queued run at once', async () => {
    const runId = await world().queuedRun();
    expect(await world().runs.cancel(OPERATOR, PROJECT, runId, mutation())).toMatchObject({
      status: 'cancelled',
      attempts: [{ status: 'cancelled', reasonCode: 'stopped_by_operator' }],
    });
    await expect(world().claim(await world().worker())).rejects.toThrow('nothing was queued');
  });

  it('asks the holder of a claimed attempt to stop, once', async () => {
    const held = await world().held('running');
    const { runId } = held.fence;
    const first = await world().runs.cancel(OPERATOR, PROJECT, runId, mutation());
    expect(first).toMatchObject({ status: 'running', cancelRequestedAtMs: expect.any(Number) as number });
    const lease = await world().leaseOf(held);
    expect(lease).toMatchObject({ version: 2 });
    const second = await world().runs.cancel(OPERATOR, PROJECT, runId, mutation());
    expect(second.cancelRequestedAtMs).toBe(first.cancelRequestedAtMs);
    expect(await world().leaseOf(held)).toEqual(lease);
  });

  it('leaves a run that has ended as it ended', async () => {
    const held = await world().held('running');
    await world().attempts.complete(held.worker, completion(held));
    expect(await world().runs.cancel(OPERATOR, PROJECT, held.fence.runId, mutation())).toMatchObject({
      status: 'succeeded',
    });
  });

  it('is refused in another project', async () => {
    const runId = await world().queuedRun();
    expect(await refusal(world(), () => world().runs.cancel(OPERATOR, 'another', runId, mutation()))).toBe(
      'not_found',
    );
  });
});

describe('retrying', () => {
  it('queues the next attempt, with cancellation, deadline and stop cleared', async () => {
    const held = await world().held('starting');
    const { runId } = held.fence;
    await world().runs.cancel(OPERATOR, PROJECT, runId, mutation());
    await database().query('UPDATE runs SET stop_requested_at_ms = 1, deadline_at_ms = 1 WHERE run_id = $1', [
      runId,
    ]);
    await world().attempts.startFailure(held.worker, held.fence);
    const request = mutation();
    const run = await world().runs.retry(OPERATOR, PROJECT, runId, request);
    expect(run).toMatchObject({
      status: 'queued',
      attempts: [{ status: 'cancelled' }, { attemptNumber: 2, status: 'queued' }],
    });
    expect(await world().runOf(held)).toMatchObject({
      cancel_requested_at_ms: null,
      stop_requested_at_ms: null,
      deadline_at_ms: null,
    });
    const replay = await world().runs.retry(OPERATOR, PROJECT, runId, request);
    expect(replay).toMatchObject({ outcome: 'replayed' });
    expect(replay.attempts).toHaveLength(2);
    const next = await world().claim(await world().worker());
    expect(next.offer.candidate.attemptNumber).toBe(2);
    expect(next.offer.lease.leaseGeneration).toBe(1);
  });

  it('after lost needs the operator’s word that the previous attempt may still run', async () => {
    const held = await world().held('running');
    await lose(held);
    const { runId } = held.fence;
    expect(await refusal(world(), () => world().runs.retry(OPERATOR, PROJECT, runId, mutation()))).toBe(
      'run_may_still_run',
    );
    const confirmed = { ...mutation(), previousMayStillRun: true };
    expect(await world().runs.retry(OPERATOR, PROJECT, runId, confirmed)).toMatchObject({ status: 'queued' });
  });

  it('is refused for a run that goes on or has succeeded', async () => {
    const held = await world().held('running');
    const retry = () => world().runs.retry(OPERATOR, PROJECT, held.fence.runId, mutation());
    expect(await refusal(world(), retry)).toBe('run_not_retryable');
    await world().attempts.complete(held.worker, completion(held));
    expect(await refusal(world(), retry)).toBe('run_not_retryable');
  });

  it('has one winner when two operators retry at the same moment', async () => {
    const held = await world().held('starting');
    await world().attempts.startFailure(held.worker, held.fence);
    const { runId } = held.fence;
    const codes = await Promise.all(
      Array.from({ length: 3 }, () => codeOf(world().runs.retry(OPERATOR, PROJECT, runId, mutation()))),
    );
    expect(codes.sort()).toEqual(['no refusal', 'run_not_retryable', 'run_not_retryable']);
    expect((await world().runs.get(PROJECT, runId)).attempts).toHaveLength(2);
  });
});
