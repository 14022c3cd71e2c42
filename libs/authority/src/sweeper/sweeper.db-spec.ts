import { randomUUID } from 'node:crypto';
import { completion, type Held, renewal, upload } from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { OPERATOR, plainSpec, PROJECT, publication } from '../../../../test/support/published-task.js';
import { until } from '../../../../test/support/until.js';
import { useWorld, World } from '../../../../test/support/world.js';
import { SweeperService } from './sweeper.service.js';

const database = useDatabase();
const world = useWorld(database);

const cancel = (held: Held) =>
  world().runs.cancel(OPERATOR, PROJECT, held.fence.runId, { mutationId: randomUUID() });
const expireAndSweep = async (held: Held) => {
  await world().expireLease(held);
  return world().sweeper.sweep();
};
const pastDeadline = (held: Held) =>
  database().query('UPDATE runs SET deadline_at_ms = clock_ms() - 5000 WHERE run_id = $1', [
    held.fence.runId,
  ]);

/** As a process leaves it that was killed while it received five bytes. */
const abandonUpload = () =>
  database().query(
    `WITH reserved AS (
       INSERT INTO artifact_usage (project_id, byte_length) VALUES ($1, 5) ON CONFLICT (project_id)
       DO UPDATE SET byte_length = artifact_usage.byte_length + 5)
     INSERT INTO artifact_uploads (upload_id, log_artifact_id, project_id, byte_length, started_at_ms)
     VALUES (gen_random_uuid(), gen_random_uuid()::text, $1, 5, 1)`,
    [PROJECT],
  );

afterEach(() => database().query(`UPDATE attempts SET status = 'failed' WHERE status = 'queued'`));

describe('a lease that has expired', () => {
  it.each<[string, () => Promise<Held>, string]>([
    ['claimed', () => world().held('claimed'), 'queued'],
    ['starting without a delivery', () => world().held('starting'), 'queued'],
    ['starting, its plan without references', () => world().held('starting', { spec: plainSpec() }), 'lost'],
    ['running', () => world().held('running'), 'lost'],
  ])('leaves an attempt that was %s', async (_what, make, status) => {
    const held = await make();
    await expireAndSweep(held);
    expect(await world().attemptOf(held)).toMatchObject({ status });
    expect(await world().runOf(held)).toMatchObject({ status, deadline_at_ms: null });
    expect(await world().leaseOf(held)).toMatchObject({ state: 'released', version: 2 });
    const [event] = await database().query(
      `SELECT facts FROM audit_events WHERE subject_id = $1 AND action = 'expire_lease'`,
      [held.fence.runId],
    );
    expect(event).toEqual({ facts: { attemptId: held.fence.attemptId, status } });
  });

  it('is lost once secrets may have arrived, and waits while they may be on their way', async () => {
    const held = await world().held('starting');
    await world().authorize(held);
    expect(await expireAndSweep(held)).toMatchObject({ waiting: 1, ended: 0 });
    expect(await world().attemptOf(held)).toMatchObject({ status: 'starting' });
    await database().query('UPDATE leases SET open_since_ms = open_since_ms - 5000 WHERE attempt_id = $1', [
      held.fence.attemptId,
    ]);
    expect(await world().sweeper.sweep()).toMatchObject({ waiting: 0, ended: 1 });
    expect(await world().attemptOf(held)).toMatchObject({ status: 'lost' });
  });

  it('requeues an attempt whose only delivery failed in custody', async () => {
    const held = await world().held('starting');
    await world().deliveries.settle(await world().authorize(held), 'custody_failed');
    await expireAndSweep(held);
    expect(await world().attemptOf(held)).toMatchObject({ status: 'queued' });
  });

  it('ends what would be requeued where a cancellation or a stop was requested', async () => {
    const cancelled = await world().held();
    await cancel(cancelled);
    await expireAndSweep(cancelled);
    expect(await world().runOf(cancelled)).toMatchObject({ status: 'cancelled' });
    const late = await world().held('starting');
    await pastDeadline(late);
    await world().sweeper.sweep();
    await expireAndSweep(late);
    expect(await world().runOf(late)).toMatchObject({ status: 'timed_out' });
  });

  it('fails an attempt that was claimed five times', async () => {
    const runId = await world().queuedRun();
    const worker = await world().worker();
    for (let claims = 0; claims < 5; claims += 1) await expireAndSweep(await world().claim(worker));
    expect(await world().runs.get(PROJECT, runId)).toMatchObject({
      status: 'failed',
      attempts: [{ status: 'failed', reasonCode: 'worker_unavailable' }],
    });
  });

  it('is left alone while it lives, and after it was completed', async () => {
    const held = await world().held('running');
    expect(await world().sweeper.sweep()).toMatchObject({ requeued: 0, ended: 0 });
    await world().attempts.complete(held.worker, completion(held));
    const before = await world().leaseOf(held);
    await expireAndSweep(held);
    expect((await world().leaseOf(held)).version).toBe(before.version);
  });

  it('is swept once by several sweepers', async () => {
    const held = await world().held('running');
    await world().expireLease(held);
    const reports = await Promise.all(Array.from({ length: 4 }, () => world().sweeper.sweep()));
    expect(reports.reduce((sum, { ended }) => sum + ended, 0)).toBe(1);
    expect(await world().leaseOf(held)).toMatchObject({ version: 2 });
  });
});

describe('a deadline', () => {
  it('that passed with its grace asks the process to stop, once', async () => {
    const held = await world().held('running', { spec: plainSpec({ timeoutMs: 60_000 }) });
    expect(await world().sweeper.sweep()).toMatchObject({ stopsRequested: 0 });
    await pastDeadline(held);
    expect(await world().sweeper.sweep()).toMatchObject({ stopsRequested: 1 });
    expect(await world().sweeper.sweep()).toMatchObject({ stopsRequested: 0 });
    expect(await world().leaseOf(held)).toMatchObject({ version: 2 });
    expect(await world().leases.renew(held.worker, renewal(held))).toMatchObject({
      status: 'stop_requested',
      stop: { reason: 'timeout' },
    });
  });

  it('does not reach into the next claim', async () => {
    const held = await world().held('starting', { spec: plainSpec({ timeoutMs: 60_000 }) });
    await world().attempts.startFailure(held.worker, { ...held.fence, reasonCode: 'worker_shutdown' });
    expect(await world().runOf(held)).toMatchObject({ deadline_at_ms: null });
  });

  it('leaves a cancellation its precedence', async () => {
    const held = await world().held('running', { spec: plainSpec({ timeoutMs: 60_000 }) });
    await cancel(held);
    await pastDeadline(held);
    await world().sweeper.sweep();
    expect(await world().leases.renew(held.worker, renewal(held))).toMatchObject({
      stop: { reason: 'user' },
    });
  });
});

describe('the sweeper', () => {
  it('ends sessions that gave no sign of life, and leaves their leases alone', async () => {
    const held = await world().held('running');
    await database().query('UPDATE worker_sessions SET expires_at_ms = 1 WHERE worker_id = $1', [
      held.worker.workerId,
    ]);
    expect(await world().sweeper.sweep()).toMatchObject({ sessionsEnded: 1 });
    expect(await world().leases.renew(held.worker, renewal(held))).toMatchObject({ status: 'renewed' });
  });

  it('removes uploads that never became an artefact, and keeps those that did', async () => {
    const held = await world().held('running');
    await world().artifacts.store(held.worker, upload(held, 3), pieces(Buffer.from('log')));
    await abandonUpload();
    await database().query('UPDATE artifact_uploads SET started_at_ms = 1');
    expect(await world().sweeper.sweep()).toMatchObject({ uploadsRemoved: 1 });
    expect(await database().query('SELECT byte_length FROM artifact_usage')).toEqual([{ byte_length: 3 }]);
    expect(await world().sweeper.sweep()).toMatchObject({ uploadsRemoved: 0 });
    const [chunks] = await database().query('SELECT count(*)::int AS chunks FROM artifact_chunks');
    expect(chunks).toEqual({ chunks: 1 });
  });

  it('keeps an artefact whose upload a control of the version before has not marked as finished', async () => {
    const held = await world().held('running');
    await world().artifacts.store(held.worker, upload(held, 3), pieces(Buffer.from('log')));
    await database().query('UPDATE artifact_uploads SET started_at_ms = 1, finished = false');
    expect(await world().sweeper.sweep()).toMatchObject({ uploadsRemoved: 0, failures: [] });
    const { projectId } = held.offer.candidate;
    const { runId, attemptId } = held.fence;
    expect(await world().artifacts.open(projectId, runId, attemptId)).toMatchObject({ byteLength: 3 });
  });

  it('creates the months ahead that are missing', async () => {
    const months = () =>
      database().query<{ month: string }>(
        `SELECT inhrelid::regclass::text AS month FROM pg_inherits WHERE inhparent = 'late_reports'::regclass
          ORDER BY 1`,
      );
    const before = await months();
    await database().query(`DROP TABLE ${before.at(-1)?.month ?? ''}`);
    const started = await world().connect('valise_sweeper', 1);
    await started.get(SweeperService).sweep();
    await started.close();
    expect(await months()).toEqual(before);
  });

  it('finds nothing to do in a world without anything overdue', async () => {
    await world().tasks.publish(OPERATOR, PROJECT, `task-${randomUUID()}`, publication());
    expect(await world().sweeper.sweep()).toEqual({
      requeued: 0,
      ended: 0,
      waiting: 0,
      stopsRequested: 0,
      sessionsEnded: 0,
      uploadsRemoved: 0,
      artifactsRemoved: 0,
      failures: [],
    });
  });
});

describe('a run that others have', () => {
  const lockRun = (held: Held) =>
    database().hold('SELECT FROM runs WHERE run_id = $1 FOR UPDATE', [held.fence.runId]);
  const sweeperWaits = () =>
    until('the sweeper to stand in line', async () => {
      const waiting = await database().query(
        `SELECT FROM pg_stat_activity WHERE application_name = 'valise_sweeper' AND wait_event_type = 'Lock'`,
      );
      return waiting.length > 0;
    });

  it('is waited for, so that nobody who comes again and again keeps the sweeper off', async () => {
    const held = await world().held('running');
    await world().expireLease(held);
    const release = await lockRun(held);
    const sweep = world().sweeper.sweep();
    await sweeperWaits();
    await release();
    expect(await sweep).toMatchObject({ ended: 1, waiting: 0, failures: [] });
  });

  it('is left for a later sweep when it does not come free, after everything else is done', async () => {
    const kept = await world().held('running');
    const other = await world().held('running');
    await world().expireLease(kept);
    await world().expireLease(other);
    const release = await lockRun(kept);
    try {
      expect(await world().sweeper.sweep()).toMatchObject({ ended: 1, waiting: 1, failures: [] });
    } finally {
      await release();
    }
    expect(await world().sweeper.sweep()).toMatchObject({ ended: 1, waiting: 0 });
  });
});

describe('a sweep in which something fails', () => {
  /** Whatever changes this row fails. */
  async function breakRow(table: string, column: string, id: string): Promise<void> {
    await database().query(`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN RAISE EXCEPTION 'broken row'; END $$`);
    await database().query(`CREATE TRIGGER broken_row BEFORE UPDATE ON ${table} FOR EACH ROW
      WHEN (OLD.${column} = '${id}') EXECUTE FUNCTION refuse()`);
  }

  afterEach(async () => {
    for (const table of ['leases', 'runs', 'worker_sessions']) {
      await database().query(`DROP TRIGGER IF EXISTS broken_row ON ${table}`);
    }
    await world().sweeper.sweep();
  });

  it('still does everything else that is due, and says what failed', async () => {
    const broken = await world().held('running');
    const expired = await world().held('running');
    const late = await world().held('running', { spec: plainSpec({ timeoutMs: 60_000 }) });
    await world().expireLease(broken);
    await world().expireLease(expired);
    await pastDeadline(late);
    await database().query('UPDATE worker_sessions SET expires_at_ms = 1 WHERE worker_id = $1', [
      late.worker.workerId,
    ]);
    await breakRow('leases', 'attempt_id', broken.fence.attemptId);
    const report = await world().sweeper.sweep();
    expect(report).toMatchObject({ ended: 1, stopsRequested: 1, sessionsEnded: 1 });
    expect(report.failures).toMatchObject([{ step: 'expire_leases', runId: broken.fence.runId }]);
    expect(await world().runOf(broken)).toMatchObject({ status: 'running' });
  });

  it('goes on after a step that fails as a whole', async () => {
    const held = await world().held('running', { spec: plainSpec() });
    await database().query('UPDATE worker_sessions SET expires_at_ms = 1 WHERE worker_id = $1', [
      held.worker.workerId,
    ]);
    await breakRow('worker_sessions', 'worker_id', held.worker.workerId);
    await abandonUpload();
    const report = await world().sweeper.sweep();
    expect(report.failures).toMatchObject([{ step: 'end_sessions', runId: null }]);
    expect(report.uploadsRemoved).toBeGreaterThan(0);
  });

  it('does not leave what failed in front of the rest, batch after batch', async () => {
    const sweeping = await World.create(database(), { sweepBatch: 1 });
    try {
      const broken = await world().held('running');
      const expired = await world().held('running');
      await world().expireLease(broken);
      await world().expireLease(expired);
      await database().query(
        'UPDATE leases SET expires_at_ms = expires_at_ms - 60000 WHERE attempt_id = $1',
        [broken.fence.attemptId],
      );
      await breakRow('leases', 'attempt_id', broken.fence.attemptId);
      expect((await sweeping.sweeper.sweep()).failures).toHaveLength(1);
      expect(await sweeping.sweeper.sweep()).toMatchObject({ ended: 1, failures: [] });
      expect((await sweeping.sweeper.sweep()).failures).toHaveLength(1);
    } finally {
      await sweeping.close();
    }
  });

  it('does not leave a run that cannot be stopped in front of the rest, batch after batch', async () => {
    const sweeping = await World.create(database(), { sweepBatch: 1 });
    try {
      const timed = { spec: plainSpec({ timeoutMs: 60_000 }) };
      const broken = await world().held('running', timed);
      const late = await world().held('running', timed);
      await pastDeadline(broken);
      await database().query('UPDATE runs SET deadline_at_ms = deadline_at_ms - 60000 WHERE run_id = $1', [
        broken.fence.runId,
      ]);
      await pastDeadline(late);
      await breakRow('runs', 'run_id', broken.fence.runId);
      expect((await sweeping.sweeper.sweep()).failures).toHaveLength(1);
      expect(await sweeping.sweeper.sweep()).toMatchObject({ stopsRequested: 1, failures: [] });
    } finally {
      await sweeping.close();
    }
  });
});

async function* pieces(...parts: Buffer[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield await Promise.resolve(part);
}
