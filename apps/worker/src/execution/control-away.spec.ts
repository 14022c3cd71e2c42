import { rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Reply } from '../../spec/fake-control.js';
import { plan } from '../../spec/plan.js';
import { WorkerUnderTest } from '../../spec/worker-under-test.js';
import { BackOff } from '../clock/back-off.js';

const go = join('/tmp', `valise-away-${process.pid}`);
const OPERATIONS = [
  'register',
  'heartbeat',
  'offers',
  'lease-control',
  'artifacts',
  'completion',
  'transition',
];
const AWAY_MS = 3000;

let worker: WorkerUnderTest;

beforeEach(async () => {
  rmSync(go, { force: true });
  worker = await WorkerUnderTest.create({ leaseDurationMs: 30_000, slots: 2 });
});
afterEach(async () => {
  await worker.remove();
  rmSync(go, { force: true });
});

function away(reply: Reply | null): void {
  for (const operation of OPERATIONS) worker.control.on(operation, reply && (() => reply));
}

describe('a worker whose control is away', () => {
  it.each<[string, Reply]>([
    ['hangs up', 'hang up'],
    ['knows it no more', { refuse: 'worker_session_fenced', status: 409 }],
  ])('and %s asks ever less often, keeps the end of its task, and reports it later', async (_, reply) => {
    worker.control.queue.push(plan(`while [ ! -e ${go} ]; do sleep 0.02; done; exit 4`));
    await worker.start();
    await worker.control.heard('running');
    away(reply);
    writeFileSync(go, '');
    const before = worker.control.questions.length;
    await worker.control.heard('artifacts');
    const inbox = join(worker.stateDirectory, 'inbox');
    const files = (await readdir(inbox)).filter((name) => !name.endsWith('.unfinished'));
    // The absence itself is what is looked at.
    await pause(AWAY_MS);
    // Two slots and the session: each asks a handful of times in three seconds, also when one question means two.
    expect(worker.control.questions.length - before).toBeLessThan(60);
    expect(worker.control.asked('completion')).toEqual([]);
    expect((await readdir(inbox)).filter((name) => !name.endsWith('.unfinished')).sort()).toEqual(
      files.sort(),
    );
    away(null);
    expect((await worker.control.heard('completion')).body.result).toMatchObject({ exitCode: 4 });
  });

  it('waits up to half a minute in the end, and never less than control asked for', () => {
    const backOff = new BackOff(30_000);
    const waits = Array.from({ length: 500 }, () => backOff.next());
    expect(Math.max(...waits)).toBeLessThanOrEqual(30_000);
    expect(Math.min(...waits.slice(10))).toBeGreaterThanOrEqual(15_000);
  });
});
