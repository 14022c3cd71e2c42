import { spawn, spawnSync, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, readdirSync, readFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { until } from '../../../../test/support/until.js';
import { IS_ROOT, TEST_BASE_UID } from '../../spec/worker-under-test.js';
import { canHaveKiller, killerOf, killerUidOf, openProgram, SlotKiller } from './slot-killer.js';

const UID = TEST_BASE_UID + 700;
const OTHER_UID = TEST_BASE_UID + 701;
const KILLER_UID = killerUidOf(UID);
const DEADLINE_MS = 10_000;
/** What runs a command as the first process of its own world, as a container does; root may not do so everywhere. */
const FIRST_PROCESS = ['--pid', '--fork', '--mount-proc'];
const MAY_UNSHARE = spawnSync('unshare', [...FIRST_PROCESS, 'true']).status === 0;

let killer: SlotKiller;
beforeEach(() => {
  killer = new SlotKiller(KILLER_UID);
});
afterEach(() => {
  killer.close();
});

/** Ends by itself soon after the test would have failed. */
const sleeper = (uid: number): ChildProcess =>
  spawn('/bin/sleep', ['30'], { uid, gid: uid, detached: true, stdio: 'ignore', env: {} });

const endOf = async (child: ChildProcess): Promise<unknown> => {
  const [, signal] = (await once(child, 'exit', { signal: AbortSignal.timeout(DEADLINE_MS) })) as unknown[];
  return signal;
};

/** The killer's processes: their real, effective, saved and file system uid, and their capabilities. */
function killers(): { readonly pid: number; readonly ids: string; readonly capabilities: string }[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'latin1');
      const [, ids = ''] = /^Uid:\t(.*)$/m.exec(status) ?? [];
      const [, capabilities = ''] = /^CapEff:\t0*(.*)$/m.exec(status) ?? [];
      return ids.startsWith(`${KILLER_UID}\t`) ? [{ pid: Number(pid), ids, capabilities }] : [];
    } catch {
      // No process, or one that has gone.
      return [];
    }
  });
}

(IS_ROOT ? describe : describe.skip)('a killer of slots', () => {
  it('ends every process of a slot’s uid, also of other sessions, and none of another, each time', async () => {
    const other = sleeper(OTHER_UID);
    try {
      for (let time = 0; time < 2; time += 1) {
        const ends = [sleeper(UID), sleeper(UID), sleeper(UID)].map(endOf);
        expect(await killer.kill(UID)).toBe(true);
        expect(await Promise.all(ends)).toEqual(['SIGKILL', 'SIGKILL', 'SIGKILL']);
        expect([other.exitCode, other.signalCode]).toEqual([null, null]);
      }
      const end = endOf(other);
      expect(await Promise.all([killer.kill(UID), killer.kill(OTHER_UID)])).toEqual([true, true]);
      expect(await end).toBe('SIGKILL');
    } finally {
      other.kill('SIGKILL');
    }
  });

  it('is one process for many orders, which no slot may signal and no closed worker leaves behind', async () => {
    await killer.kill(UID);
    await killer.kill(OTHER_UID);
    expect(killers()).toHaveLength(1);
    killer.close();
    await until('the killer has gone', () => killers().length === 0);
  });

  // An exec under no_new_privs gives up every id and capability that is not so, in some kernels (6.1).
  it('has one uid and one capability between orders, none of which an exec had to preserve', async () => {
    await killer.kill(UID);
    const ids = Array(4).fill(KILLER_UID).join('\t');
    expect(killers()).toMatchObject([{ ids, capabilities: '80' }]);
  });

  it('leaves when there is nothing to end for a while', async () => {
    const brief = new SlotKiller(KILLER_UID, 100);
    expect(await brief.kill(UID)).toBe(true);
    await until('the killer has gone', () => killers().length === 0);
    expect(await brief.kill(UID)).toBe(true);
    brief.close();
  });

  it('is waited for where tasks leave it next to nothing of the processors', async () => {
    await killer.kill(UID);
    const pid = killers().at(-1)?.pid ?? NaN;
    process.kill(pid, 'SIGSTOP');
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      const killed = killer.kill(UID);
      await jest.advanceTimersByTimeAsync(60_000);
      process.kill(pid, 'SIGCONT');
      expect(await killed).toBe(true);
    } finally {
      jest.useRealTimers();
    }
  });

  it('is known to be had, or not, without an order', () => {
    expect(canHaveKiller(KILLER_UID)).toBe(true);
    expect(canHaveKiller(0)).toBe(false);
  });

  it('says so when it is killed itself, and is there again for the next order', async () => {
    await killer.kill(UID);
    spawnSync('setpriv', [
      '--reuid',
      String(KILLER_UID),
      '--clear-groups',
      '--',
      'sh',
      '-c',
      'kill -KILL -1',
    ]);
    const next = await killer.kill(UID);
    expect(next || (await killer.kill(UID))).toBe(true);
  });

  it('tells of the first order in a row that it did not carry out', async () => {
    let told = 0;
    const observed = new SlotKiller(KILLER_UID, undefined, () => (told += 1));
    /** It is ended in the middle of its act. */
    const failing = async (): Promise<void> => {
      await observed.kill(UID);
      const pid = killers().at(-1)?.pid ?? NaN;
      process.kill(pid, 'SIGSTOP');
      const killed = observed.kill(UID);
      process.kill(pid, 'SIGKILL');
      expect(await killed).toBe(false);
    };
    try {
      await failing();
      expect(told).toBe(1);
      expect(await observed.kill(0)).toBe(false);
      expect(told).toBe(1);
      await failing();
      expect(told).toBe(2);
    } finally {
      observed.close();
    }
  });

  // The worker does not even ask for it; what a killer does is tried where it could end nobody.
  it.each([0, -1, Number.NaN, KILLER_UID])('does nothing for the uid %p, and says so', async (uid) => {
    expect(await killer.kill(uid)).toBe(false);
  });

  interface World {
    readonly bystander: string;
    readonly killer?: readonly string[];
    readonly order?: number;
  }

  /** As the first process of its own world, with `bystander` beside it: all that it could end. */
  async function inItsOwnWorld({ bystander, killer = killerOf(KILLER_UID), order = UID }: World) {
    const command = ['sh', '-c', `${bystander} "$@"`, 'sh', 'setpriv', ...killer];
    const program = openProgram();
    const world = spawn('unshare', [...FIRST_PROCESS, ...command], {
      stdio: ['pipe', 'pipe', 'ignore', program],
    }) as ChildProcessByStdio<Writable, Readable, null>;
    closeSync(program);
    const exit = once(world, 'exit', { signal: AbortSignal.timeout(DEADLINE_MS) });
    world.stdin.on('error', () => undefined).end(String(order));
    const answer = await text(world.stdout);
    return { answer, exit: await exit };
  }

  const BYSTANDER = 'sleep 5 >&- &';
  const withCapability = killerOf(KILLER_UID).map((part) => part.replace(/^-all,\+setuid$/, '$&,+kill'));

  (MAY_UNSHARE ? it : it.skip)('is certain where a container has nobody but its first process', async () => {
    expect(await inItsOwnWorld({ bystander: 'exec' })).toEqual({ answer: '+', exit: [0, null] });
  });

  (MAY_UNSHARE ? it.each : it.skip.each)<[string, Omit<World, 'bystander'>]>([
    ['with the real uid of root', { killer: killerOf(0) }],
    ['with another capability', { killer: withCapability }],
    ['for the uid of root', { order: 0 }],
    ['for its own uid', { order: KILLER_UID }],
  ])('does nothing %s', async (_what, world) => {
    expect(await inItsOwnWorld({ bystander: BYSTANDER, ...world })).toEqual({ answer: '', exit: [1, null] });
  });
});
