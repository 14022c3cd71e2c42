import { existsSync, mkdtempSync, readFileSync, rmSync, chmodSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../../../test/support/until.js';
import { plan, reference } from '../../spec/plan.js';
import { IS_ROOT, WorkerUnderTest } from '../../spec/worker-under-test.js';
import { findProcesses } from './process-table.js';

const SECRET = reference('neighbour');
const VALUE = 'neighbours-secret-value';

let worker: WorkerUnderTest;
let shared: string;

beforeEach(async () => {
  worker = await WorkerUnderTest.create({ slots: 2, leaseDurationMs: 30_000 });
  worker.control.secrets.set(SECRET, Buffer.from(VALUE));
  shared = mkdtempSync(join(tmpdir(), 'valise-hostile-'));
  chmodSync(shared, 0o777);
  // The files have to protect themselves.
  chmodSync(worker.directory, 0o755);
});
afterEach(async () => {
  await worker.remove();
  rmSync(shared, { recursive: true });
});

async function appeared(file: string): Promise<string> {
  const path = join(shared, file);
  await until(file, () => existsSync(path), { situation: () => worker.log.join('') });
  return readFileSync(path, 'utf8').trim();
}

/** A task with a secret that lives until it is told not to. */
const neighbour = () =>
  plan(
    `echo $$ > ${shared}/.pid; mv ${shared}/.pid ${shared}/pid; while [ ! -e ${shared}/go ]; do sleep 0.02; done; exit 3`,
    {
      environment: [{ name: 'SECRET', kind: 'secret', secretRef: SECRET }],
    },
  );

/** What of it succeeds, one word a line; a task that is refused everything is silent. */
function attacks(victim: string): string {
  const { directory, stateDirectory } = worker;
  const inbox = join(stateDirectory, 'inbox');
  return [
    ...[process.pid, process.ppid, victim].flatMap((pid) => [
      `cat /proc/${pid}/environ | grep -q . && echo environ ${pid}`,
      `true < /proc/${pid}/mem && echo mem ${pid}`,
      `true < /proc/${pid}/maps && [ -n "$(cat /proc/${pid}/maps)" ] && echo maps ${pid}`,
      `ls /proc/${pid}/fd/ | grep -q . && echo descriptors ${pid}`,
      `ls /proc/${pid}/cwd/ | grep -q . && echo cwd ${pid}`,
      `true < /proc/${pid}/stack && echo stack ${pid}`,
      `kill -0 ${pid} && echo signal ${pid}`,
      `kill -USR1 ${pid} && echo inspector ${pid}`,
      `kill -STOP ${pid} && echo stopped ${pid}`,
      `echo 0 > /proc/${pid}/oom_score_adj && echo oom ${pid}`,
    ]),
    `cat ${directory}/worker.key && echo key`,
    `ls ${stateDirectory} && echo state`,
    `ls ${inbox} && echo inbox`,
    `cat ${inbox}/slot-0.json && echo record`,
    `ls ${stateDirectory}/artifacts && echo artifacts`,
    `touch ${inbox}/slot-1.json && echo written`,
    `ls /run/valise && echo locks`,
    `setpriv --reuid 0 true && echo root`,
    'echo done',
  ].join('\n');
}

(IS_ROOT ? describe : describe.skip)('a hostile task in a slot of its own', () => {
  it('reads, signals, stops and traces neither the worker nor the task next to it, and finds none of our files', async () => {
    worker.control.queue.push(neighbour());
    await worker.start();
    const victim = await appeared('pid');
    // What the task prints is masked; what it finds out goes into a file of its own.
    const script = `{ ${attacks(victim)}\n} > ${shared}/.found 2> /dev/null; mv ${shared}/.found ${shared}/found`;
    worker.control.queue.push(plan(script));
    expect(await appeared('found')).toBe('done');
    expect(existsSync(`/proc/${victim}/environ`)).toBe(true);
    expect(readFileSync(`/proc/${victim}/environ`, 'utf8')).toContain(`SECRET=${VALUE}`);
    writeFileSync(join(shared, 'go'), '');
    await worker.control.heard('completion', 2);
    const exits = worker.control
      .asked('completion')
      .map(({ body }) => (body.result as { exitCode: number }).exitCode);
    expect(exits.sort()).toEqual([0, 3]);
  });

  it('that kills everything it may kill ends itself alone', async () => {
    worker.control.queue.push(neighbour());
    await worker.start();
    const victim = await appeared('pid');
    worker.control.queue.push(plan('kill -KILL -1; exit 0'));
    const { body } = await worker.control.heard('completion');
    expect(body.result).toMatchObject({ outcome: 'succeeded' });
    expect(existsSync(`/proc/${victim}/environ`)).toBe(true);
    writeFileSync(join(shared, 'go'), '');
    expect((await worker.control.heard('completion', 2)).body.result).toMatchObject({ exitCode: 3 });
  });

  it('leaves nothing for the next task of its slot, whatever it detached', async () => {
    worker.control.queue.push(
      plan(
        `for n in 1 2 3; do setsid sh -c 'trap "" TERM HUP; exec env -i sleep 600' & done; id -u > ${shared}/uid`,
      ),
    );
    await worker.start();
    await worker.control.heard('completion');
    const uid = Number(await appeared('uid'));
    expect(findProcesses({ kind: 'uid', uid, leader: null })).toEqual([]);
  });
});

describe('a task', () => {
  it('finds nothing of the worker in its own environment, descriptors and command line', async () => {
    worker.control.queue.push(
      plan(
        `{ cat /proc/self/environ; tr '\\0' '\\n' < /proc/$$/cmdline; ls -l /proc/$$/fd; } > ${shared}/.own; mv ${shared}/.own ${shared}/own`,
      ),
    );
    await worker.start();
    const own = await appeared('own');
    for (const foreign of [
      worker.directory,
      worker.control.url.host,
      'VALISE_',
      worker.control.offers[0]!.offerId,
    ]) {
      expect(own).not.toContain(foreign);
    }
    await worker.control.heard('completion');
  });
});

describe('a worker whose tasks share its uid', () => {
  it('says so when it starts', async () => {
    await worker.remove();
    worker = await WorkerUnderTest.create({
      isolation: { kind: 'shared_uid', uid: process.getuid?.() ?? -1 },
    });
    await worker.start();
    await worker.control.heard('offers');
    expect(worker.log.join('')).toContain('tasks_share_our_uid');
  });
});
