import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { until } from '../../../../test/support/until.js';
import { IS_ROOT, TEST_BASE_UID } from '../../spec/worker-under-test.js';
import { endProcesses as endProcessesOf } from './end-processes.js';
import { findProcesses, identify, type ProcessOwner } from './process-table.js';
import { killerUidOf, SlotKiller } from './slot-killer.js';

const UID = TEST_BASE_UID + 200;
/** exit(2) of one thread, by its number. */
const SYS_EXIT = process.arch === 'arm64' ? 93 : 60;
const HAS_THREADS = spawnSync('perl', ['-Mthreads', '-e', '1']).status === 0;
const NEVER = new AbortController().signal;
const OWN_UID = process.getuid?.() ?? -1;

const killer = new SlotKiller(killerUidOf(UID));
afterAll(() => {
  killer.close();
});

const endProcesses = (owner: ProcessOwner, graceMs: number, urgent: AbortSignal): Promise<boolean> =>
  endProcessesOf(owner, owner.kind === 'uid' ? killer : null, graceMs, urgent);

/** A task that says `up` once everything it starts is there. */
async function task(script: string, owner: ProcessOwner): Promise<{ pid: number; ended: Promise<unknown> }> {
  const as = owner.kind === 'uid' ? { uid: owner.uid, gid: owner.uid } : {};
  const id = owner.kind === 'attempt' ? owner.attemptId : 'none';
  const child = spawn('/bin/sh', ['-c', script], {
    detached: true,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', QL3_ATTEMPT_ID: id },
    stdio: ['ignore', 'pipe', 'ignore'],
    ...as,
  });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  return { pid: child.pid!, ended };
}

const attemptOf = (): ProcessOwner => ({
  kind: 'attempt',
  attemptId: randomUUID(),
  uid: OWN_UID,
  leader: null,
});
const slotOf = (): ProcessOwner => ({ kind: 'uid', uid: UID, leader: null });
const owners: [string, () => ProcessOwner][] = [['its attempt id', attemptOf]];
if (IS_ROOT) owners.push(['the uid of its slot', slotOf]);

describe.each(owners)('a task that is known by %s', (_, ownerOf) => {
  it('is ended with its children, those that left its session included', async () => {
    const owner = ownerOf();
    const { ended } = await task(
      'sleep 60 & setsid sleep 60 & setsid sh -c "sleep 60 & sleep 60" & sleep 0.1; echo up; wait',
      owner,
    );
    expect(findProcesses(owner).length).toBeGreaterThanOrEqual(5);
    expect(await endProcesses(owner, 5000, NEVER)).toBe(true);
    expect(findProcesses(owner)).toEqual([]);
    await ended;
  });

  it('is killed after the grace when it takes no TERM', async () => {
    const owner = ownerOf();
    const { ended } = await task('trap "" TERM; echo up; while :; do sleep 0.05; done', owner);
    const before = Date.now();
    await endProcesses(owner, 300, NEVER);
    expect(Date.now() - before).toBeGreaterThanOrEqual(300);
    expect((await ended) as unknown[]).toEqual([null, 'SIGKILL']);
  });

  it('has its grace, and ends by itself within it', async () => {
    const owner = ownerOf();
    const { ended } = await task('trap "exit 7" TERM; echo up; while :; do sleep 0.05; done', owner);
    await endProcesses(owner, 10_000, NEVER);
    expect((await ended) as unknown[]).toEqual([7, null]);
  });

  it('loses its grace at once when it becomes urgent', async () => {
    const owner = ownerOf();
    const { ended } = await task('trap "" TERM; echo up; while :; do sleep 0.05; done', owner);
    const urgent = new AbortController();
    const ending = endProcesses(owner, 60_000, urgent.signal);
    urgent.abort();
    await ending;
    expect((await ended) as unknown[]).toEqual([null, 'SIGKILL']);
  });

  (HAS_THREADS ? it : it.skip)('is ended when it looks dead, for its first thread is', async () => {
    const owner = ownerOf();
    const script = `$| = 1; threads->create(sub { sleep 60 }); print "up"; syscall(${SYS_EXIT}, 0)`;
    const { pid, ended } = await task(`exec perl -Mthreads -e '${script}'`, owner);
    await until('the end of its first thread', () =>
      readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z '),
    );
    const known = { ...owner, leader: identify(pid) };
    expect(findProcesses(known)).toEqual([pid]);
    expect(await endProcesses(known, 5000, NEVER)).toBe(true);
    await ended;
  });

  it('is ended when it is stopped', async () => {
    const owner = ownerOf();
    const { ended } = await task('echo up; kill -STOP $$', owner);
    await endProcesses(owner, 10_000, NEVER);
    expect((await ended) as unknown[]).toEqual([null, 'SIGTERM']);
  });
});

describe('ending processes', () => {
  it('ends what was started for a slot before it has taken the uid of the slot', async () => {
    const owner: ProcessOwner = { kind: 'uid', uid: UID, leader: null };
    const { pid, ended } = await task('echo up; exec sleep 60', attemptOf());
    expect(await endProcesses({ ...owner, leader: identify(pid) }, 0, NEVER)).toBe(true);
    await ended;
  });

  it('says that there was nothing to end', async () => {
    expect(await endProcesses(attemptOf(), 0, NEVER)).toBe(false);
  });

  it('leaves the processes of another attempt alone', async () => {
    const mine = attemptOf();
    const other = attemptOf();
    const { pid, ended } = await task('echo up; sleep 60', mine);
    await endProcesses(other, 0, NEVER);
    expect(findProcesses(mine)).toContain(pid);
    await endProcesses(mine, 0, NEVER);
    await ended;
  });

  it('finds a task by its session when it has hidden its environment', async () => {
    const hidden = attemptOf();
    const { pid, ended } = await task('exec env -i sh -c "echo up; sleep 60; :"', hidden);
    expect(findProcesses(hidden)).toEqual([]);
    const known = { ...hidden, leader: identify(pid) } as ProcessOwner;
    expect(findProcesses(known)).toContain(pid);
    await endProcesses(known, 0, NEVER);
    await ended;
  });
});

(IS_ROOT ? describe : describe.skip)('everything under the uid of a slot', () => {
  /** Each generation forks the next and exits; before the shell's recursion ends, it begins anew. */
  const generations = (act: string): string =>
    `n=0; next() { ${act}; n=$((n+1)); [ $n = 900 ] && exec sh -c "$0" "$0"; next & exit; }; echo up; next`;

  it.each([
    ['forks faster than anybody can list', generations(':')],
    ['kills whoever of its uid would kill it', generations('kill -9 -1')],
  ])(
    'is ended when it %s, each time',
    async (_, script) => {
      for (let time = 0; time < 12; time += 1) await untilExtinct(script);
    },
    30_000,
  );

  async function untilExtinct(script: string): Promise<void> {
    const child = spawn('/bin/sh', ['-c', script, script], {
      detached: true,
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'ignore'],
      uid: UID,
      gid: UID,
    });
    // Each of its generations holds the pipe: its end is the end of the last one.
    const extinct = once(child.stdout, 'end');
    await once(child.stdout, 'data');
    child.stdout.resume();
    await endProcesses(slotOf(), 0, NEVER);
    await extinct;
  }
});
