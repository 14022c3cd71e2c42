import { existsSync, mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plan } from '../../spec/plan.js';
import { WorkerUnderTest } from '../../spec/worker-under-test.js';

const marker = join('/tmp', `valise-full-disk-${process.pid}`);

let worker: WorkerUnderTest;

beforeEach(() => {
  rmSync(marker, { force: true });
});
afterEach(async () => {
  await worker.remove();
  rmSync(marker, { force: true });
});

/** Where a record of slot 0 is written first; a directory in its place makes every write of one fail. */
const obstacle = (): string => join(worker.stateDirectory, 'inbox', 'slot-0.json.unfinished');

function obstruct(): void {
  mkdirSync(obstacle());
}

describe('an inbox that the disk does not take', () => {
  it('fails the start before the launch, and the slot goes on once the disk takes records again', async () => {
    worker = await WorkerUnderTest.create();
    worker.control.queue.push(plan(`touch ${marker}`));
    worker.control.on('starting', (question) => {
      worker.control.on('starting', null);
      obstruct();
      return worker.control.grant(question);
    });
    await worker.start();
    expect((await worker.control.heard('start-failure')).body).toMatchObject({
      reasonCode: 'artifact_unavailable',
    });
    expect(existsSync(marker)).toBe(false);
    await worker.logged('slot_failed');
    rmdirSync(obstacle());
    worker.control.queue.push(plan('true'));
    expect((await worker.control.heard('completion')).body.result).toMatchObject({ outcome: 'succeeded' });
  });

  it('lets a task run on, and its end is told once it is written', async () => {
    worker = await WorkerUnderTest.create();
    worker.control.queue.push(plan(`while [ ! -e ${marker} ]; do sleep 0.02; done; exit 4`));
    await worker.start();
    await worker.control.heard('running');
    await worker.logged('running_acknowledged');
    obstruct();
    writeFileSync(marker, '');
    await worker.logged('inbox_unwritable');
    expect(worker.control.asked('completion')).toEqual([]);
    rmdirSync(obstacle());
    expect((await worker.control.heard('completion')).body.result).toMatchObject({ exitCode: 4 });
  });

  it('tells the end without having written it when the lease does not last', async () => {
    worker = await WorkerUnderTest.create({ leaseDurationMs: 2000 });
    worker.control.queue.push(plan(`while [ ! -e ${marker} ]; do sleep 0.02; done; exit 4`));
    await worker.start();
    await worker.control.heard('running');
    await worker.logged('running_acknowledged');
    obstruct();
    writeFileSync(marker, '');
    await worker.logged('inbox_unwritable');
    worker.control.on('lease-control', () => 'silence');
    expect((await worker.control.heard('completion')).body.result).toMatchObject({ exitCode: 4 });
    rmdirSync(obstacle());
  });

  it('ends no other slot', async () => {
    worker = await WorkerUnderTest.create({ slots: 2 });
    await worker.start();
    await worker.control.heard('offers', 2);
    obstruct();
    for (let task = 0; task < 6; task += 1) worker.control.queue.push(plan('true'));
    await worker.control.heard('completion');
    await worker.logged('slot_failed');
    worker.control.queue.push(plan('true'));
    await worker.control.heard('completion', 2);
    rmdirSync(obstacle());
  });
});
