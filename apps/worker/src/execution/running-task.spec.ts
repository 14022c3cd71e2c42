import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../../../test/support/until.js';
import { refuse } from '../../spec/fake-control.js';
import { plan } from '../../spec/plan.js';
import { WorkerUnderTest } from '../../spec/worker-under-test.js';

/** Long enough that a busy machine does not lose it between two renewals. */
const LEASE_MS = 4000;

let worker: WorkerUnderTest;

beforeEach(async () => {
  worker = await WorkerUnderTest.create({ leaseDurationMs: LEASE_MS });
});
afterEach(() => worker.remove());

const path = (name: string): string => join('/tmp', `valise-running-${process.pid}-${name}`);

describe('a running task', () => {
  const trapped = path('trapped');
  /** Marks that it will obey a TERM, and waits for one. */
  const endless = `trap "echo told; exit 9" TERM; echo up; : > ${trapped}; while :; do sleep 0.02; done`;

  /** Acknowledged as running, and ready to be told to stop. */
  async function running(): Promise<void> {
    await worker.control.heard('running');
    await until('the trap', () => existsSync(trapped));
  }

  beforeEach(() => {
    rmSync(trapped, { force: true });
  });

  it('is stopped when control asks, has its grace, and the attempt is cancelled', async () => {
    const completion = worker.endOf(plan(endless), 'completion');
    await running();
    worker.control.on('lease-control', () =>
      worker.control.renewal({ status: 'stop_requested', stop: { reason: 'user' } }),
    );
    const { body } = await completion;
    expect(body).toMatchObject({
      result: { outcome: 'cancelled', exitCode: 9 },
      reasonCode: 'stopped_by_operator',
    });
    expect(worker.control.logOf(await completion)).toMatch(/^up\n(.*\n)?told\n$/);
  });

  it('has succeeded when it exits with 0 on a stop', async () => {
    const completion = worker.endOf(plan(endless.replace('exit 9', 'exit 0')), 'completion');
    await running();
    worker.control.on('lease-control', () =>
      worker.control.renewal({ status: 'stop_requested', stop: { reason: 'user' } }),
    );
    expect((await completion).body.result).toMatchObject({ outcome: 'succeeded', exitCode: 0 });
  });

  it('is stopped at its timeout', async () => {
    const { body } = await worker.endOf(plan(endless, { timeoutMs: 2000 }), 'completion');
    expect(body).toMatchObject({ result: { outcome: 'timed_out' }, reasonCode: 'stopped_by_timeout' });
  });

  it('is ended when the lease is lost, and the attempt says so', async () => {
    const completion = worker.endOf(plan('trap "" TERM; while :; do sleep 0.02; done'), 'completion');
    await worker.control.heard('running');
    worker.control.on('lease-control', refuse(409, 'worker_lease_control_fenced'));
    expect((await completion).body).toMatchObject({
      result: { outcome: 'failed', exitCode: null },
      reasonCode: 'lease_lost',
    });
  });

  it('is dead before its lease is over when control cannot be heard', async () => {
    // Long enough that a busy machine does not take the margin for itself.
    const leaseDurationMs = 6000;
    await worker.remove();
    worker = await WorkerUnderTest.create({ leaseDurationMs });
    const file = path('alive');
    const alive = `trap "" TERM; while :; do date +%s%N > ${file}; sleep 0.01; done`;
    const completion = worker.endOf(plan(alive), 'completion');
    await worker.control.heard('running');
    worker.control.on('lease-control', () => 'silence');
    const anchoredBefore = Date.now();
    const { body } = await completion;
    expect(body).toMatchObject({ result: { outcome: 'failed' }, reasonCode: 'lease_lost' });
    // The last grant was asked for before this moment, so the lease ends before this moment plus its duration.
    const { finishedAtMs } = body.result as { finishedAtMs: number };
    expect(finishedAtMs).toBeLessThan(anchoredBefore + leaseDurationMs);
  });

  it('goes on when control refuses one renewal and asks for a long patience', async () => {
    const completion = worker.endOf(
      plan('trap "exit 3" TERM; while [ ! -e $0 ]; do sleep 0.02; done'.replace('$0', trapped)),
      'completion',
    );
    await worker.control.heard('running');
    const asked = worker.control.asked('lease-control').length;
    worker.control.on('lease-control', () => {
      worker.control.on('lease-control', null);
      return { refuse: 'worker_ingress_unavailable', status: 503, retryAfter: 60 };
    });
    // The refused one, its repetition, and the next in turn.
    await worker.control.heard('lease-control', asked + 3);
    writeFileSync(trapped, '');
    expect((await completion).body.result).toMatchObject({ outcome: 'succeeded' });
  });

  it('is reported with the signal that killed it', async () => {
    expect((await worker.endOf(plan('kill -ABRT $$'), 'completion')).body).toMatchObject({
      result: { outcome: 'failed', exitCode: null },
      reasonCode: 'killed_by_signal',
      signal: 'SIGABRT',
    });
  });

  it('is over only when nothing it started is left', async () => {
    const started = path('child');
    await worker.endOf(plan(`setsid sh -c 'echo $$ > ${started}; exec sleep 60' & sleep 0.2`), 'completion');
    const status = `/proc/${readFileSync(started, 'utf8').trim()}/status`;
    // Nobody may reap an orphan here; a zombie has ended all the same.
    expect(existsSync(status) ? readFileSync(status, 'utf8') : 'State:\tZ').toContain('State:\tZ');
  });

  it('is stopped by the second request to leave, and the attempt says why', async () => {
    const completion = worker.endOf(plan(endless), 'completion');
    await worker.control.heard('running');
    await worker.stop(2);
    expect((await completion).body).toMatchObject({
      result: { outcome: 'failed' },
      reasonCode: 'worker_shutdown',
    });
  });

  it('is waited for by the first request to leave, and nothing more is claimed', async () => {
    const completion = worker.endOf(plan('sleep 0.5'), 'completion');
    await worker.control.heard('running');
    const claims = worker.control.asked('offers').length;
    await worker.stop();
    expect((await completion).body.result).toMatchObject({ outcome: 'succeeded' });
    expect(worker.control.asked('offers')).toHaveLength(claims);
  });
});
