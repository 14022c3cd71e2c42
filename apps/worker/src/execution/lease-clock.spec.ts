import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { plan } from '../../spec/plan.js';
import { WorkerUnderTest } from '../../spec/worker-under-test.js';

const TEN_MINUTES_MS = 600_000;
const LEASE_MS = 3000;
const go = join('/tmp', `valise-clock-${process.pid}`);

let worker: WorkerUnderTest;
const wallClock = Date.now;

beforeEach(async () => {
  rmSync(go, { force: true });
  worker = await WorkerUnderTest.create({ leaseDurationMs: LEASE_MS });
});
afterEach(async () => {
  Date.now = wallClock;
  await worker.remove();
  rmSync(go, { force: true });
});

const waiting = plan(`while [ ! -e ${go} ]; do sleep 0.02; done`);

describe.each([
  ['forward', TEN_MINUTES_MS],
  ['back', -TEN_MINUTES_MS],
])('a wall clock that jumps ten minutes %s', (_, jumpMs) => {
  it('neither ends a lease nor prolongs it while the task runs', async () => {
    worker.control.queue.push(waiting);
    await worker.start();
    await worker.control.heard('running');
    Date.now = () => wallClock() + jumpMs;
    const asked = worker.control.asked('lease-control').length;
    const jumpedAtMs = performance.now();
    await worker.control.heard('lease-control', asked + 3);
    // Three in a row take two periods of a third, not more and not at once.
    expect(performance.now() - jumpedAtMs).toBeGreaterThan(2 * 0.9 * (LEASE_MS / 3) - 50);
    writeFileSync(go, '');
    const { body } = await worker.control.heard('completion');
    expect(body).toMatchObject({ result: { outcome: 'succeeded' } });
    const { startedAtMs, finishedAtMs } = body.result as { startedAtMs: number; finishedAtMs: number };
    expect(finishedAtMs).toBeGreaterThanOrEqual(startedAtMs);
  });

  it('does not keep a task alive whose lease is not renewed', async () => {
    worker.control.queue.push(waiting);
    await worker.start();
    await worker.control.heard('running');
    Date.now = () => wallClock() + jumpMs;
    worker.control.on('lease-control', () => 'silence');
    const cutAtMs = performance.now();
    expect((await worker.control.heard('completion')).body).toMatchObject({ reasonCode: 'lease_lost' });
    expect(performance.now() - cutAtMs).toBeLessThan(3 * LEASE_MS);
    expect(existsSync(go)).toBe(false);
  });
});

describe('a lease', () => {
  it('runs from when it was asked for, however late the answer comes', async () => {
    worker.control.queue.push(waiting);
    await worker.start();
    await worker.control.heard('running');
    let sentAtMs = 0;
    worker.control.on('lease-control', async () => {
      worker.control.on('lease-control', () => 'silence');
      sentAtMs = performance.now();
      await pause(LEASE_MS / 3);
      return worker.control.renewal({ status: 'renewed' });
    });
    expect((await worker.control.heard('completion')).body).toMatchObject({ reasonCode: 'lease_lost' });
    expect(performance.now() - sentAtMs).toBeLessThan(LEASE_MS);
  });

  it('is anchored by no repeated offer: the worker renews before any other act', async () => {
    worker.control.queue.push(waiting);
    worker.control.on('offers', (question) => {
      worker.control.on('offers', null);
      const granted = worker.control.grant(question) as { json: { offer: object } };
      const { json } = granted;
      return { json: { ...json, offer: { ...json.offer, deliveryKind: 'lease_recovery' } } };
    });
    await worker.start();
    await worker.control.heard('starting');
    const operations = worker.control.questions.map(({ operation }) => operation);
    expect(operations.indexOf('lease-control')).toBeGreaterThan(0);
    expect(operations.indexOf('lease-control')).toBeLessThan(operations.indexOf('starting'));
    writeFileSync(go, '');
    await worker.control.heard('completion');
  });
});

describe('a timeout', () => {
  it('that control sees first stops the task too, and the attempt has timed out', async () => {
    worker.control.queue.push(waiting);
    await worker.start();
    await worker.control.heard('running');
    worker.control.on('lease-control', () =>
      worker.control.renewal({ status: 'stop_requested', stop: { reason: 'timeout' } }),
    );
    expect((await worker.control.heard('completion')).body).toMatchObject({
      result: { outcome: 'timed_out' },
      reasonCode: 'stopped_by_timeout',
    });
  });
});

describe('a stop that control asks for', () => {
  it('is obeyed within one period of renewal', async () => {
    worker.control.queue.push(waiting);
    await worker.start();
    await worker.control.heard('running');
    const askedAtMs = performance.now();
    worker.control.on('lease-control', () =>
      worker.control.renewal({ status: 'stop_requested', stop: { reason: 'user' } }),
    );
    await worker.control.heard('completion');
    // A period is a third of the duration; what is more is a busy machine's.
    expect(performance.now() - askedAtMs).toBeLessThan(LEASE_MS);
  });
});
