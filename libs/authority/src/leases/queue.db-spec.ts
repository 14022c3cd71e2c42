import { randomUUID } from 'node:crypto';
import { newLeaseToken } from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { OPERATOR, plainSpec, PROJECT, publication } from '../../../../test/support/published-task.js';
import type { TestWorker } from '../../../../test/support/worker-session.js';
import { useWorld } from '../../../../test/support/world.js';

const database = useDatabase();
const world = useWorld(database);

const ask = (worker: TestWorker) => ({
  workerGeneration: worker.generation,
  offerId: randomUUID(),
  leaseToken: newLeaseToken(),
});

afterEach(() => database().query(`UPDATE attempts SET status = 'failed' WHERE status = 'queued'`));

describe('a claim', () => {
  it('finds a fitting attempt behind more than anybody would page through', async () => {
    const elsewhere = plainSpec({ placement: { required: { labels: { zone: 'b' } } } });
    const inFront = await world().queuedRun({ spec: elsewhere });
    await database().query(
      `WITH run AS (SELECT * FROM runs WHERE run_id = $1),
       made AS (
         INSERT INTO runs (run_id, project_id, task_id, revision, task_revision, priority, status,
                           newest_attempt_number, created_at_ms, updated_at_ms)
         SELECT run_id || i, project_id, task_id, revision, task_revision, 9, 'queued', 1, 0, 0
           FROM run, generate_series(1, 20000) i RETURNING run_id)
       INSERT INTO attempts (attempt_id, run_id, attempt_number, project_id, priority, status, queued_at_ms,
                             created_at_ms, updated_at_ms, execution_digest)
       SELECT made.run_id, made.run_id, 1, project_id, 9, 'queued', 0, 0, 0, execution_digest
         FROM made, attempts WHERE attempts.run_id = $1`,
      [inFront],
    );
    const runId = await world().queuedRun();
    for (const projects of [['*'], [PROJECT]]) {
      const held = await world().claim(await world().worker(undefined, { projects }));
      expect(held.fence.runId).toBe(runId);
      await world().attempts.startFailure(held.worker, { ...held.fence, reasonCode: 'worker_shutdown' });
    }
    const alone = await world().worker(undefined, { labels: { zone: 'c' } });
    await database().query(`UPDATE attempts SET status = 'failed' WHERE run_id = $1`, [runId]);
    expect(await world().leases.claim(alone, ask(alone))).toMatchObject({ reason: 'no_match' });
  });

  it('finds a fitting attempt behind more revisions that do not fit than are read at once', async () => {
    for (let task = 0; task < 70; task += 1) {
      await world().queuedRun({
        spec: plainSpec({ placement: { required: { labels: { zone: `z${task}` } } } }),
      });
    }
    const runId = await world().queuedRun();
    expect((await world().claim(await world().worker())).fence.runId).toBe(runId);
    const last = await world().worker(undefined, { labels: { zone: 'z69' } });
    expect((await world().claim(last)).offer.candidate.runId).not.toBe(runId);
  });

  it('finds a fitting attempt behind many whose plan was damaged', async () => {
    const taskId = `task-${randomUUID()}`;
    await world().tasks.publish(OPERATOR, PROJECT, taskId, publication());
    for (let run = 0; run < 70; run += 1) {
      await world().runs.start(OPERATOR, PROJECT, taskId, { mutationId: randomUUID() });
    }
    await database().query(`UPDATE task_execution_revisions SET plan_json = '{' WHERE task_id = $1`, [
      taskId,
    ]);
    const runId = await world().queuedRun();
    expect((await world().claim(await world().worker())).fence.runId).toBe(runId);
  });
});
