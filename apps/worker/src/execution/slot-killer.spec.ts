import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { until } from '../../../../test/support/until.js';
import { IS_ROOT, TEST_BASE_UID } from '../../spec/worker-under-test.js';
import { killerOf, killerUidOf, SlotKiller } from './slot-killer.js';

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

/** The uids of the killer's processes: real, effective, saved and of the file system. */
function killersIds(): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const [, ids] = /^Uid:\t(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
      return ids?.startsWith(`${KILLER_UID}\t`) ? [ids] : [];
    } catch {
      // No process, or one that has gone.
      return [];
    }
  });
}

(IS_ROOT ? describe : describe.skip)('what ends slots', () => {
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
    expect(killersIds()).toEqual([`${KILLER_UID}\t0\t0\t0`]);
    killer.close();
    await until('the killer has gone', () => killersIds().length === 0);
  });

  it('leaves when there is nothing to end for a while', async () => {
    const brief = new SlotKiller(KILLER_UID, 100);
    expect(await brief.kill(UID)).toBe(true);
    await until('the killer has gone', () => killersIds().length === 0);
    expect(await brief.kill(UID)).toBe(true);
    brief.close();
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

  it.each([0, -1, Number.NaN])('does nothing for the uid %p, and says so', async (uid) => {
    expect(await killer.kill(uid)).toBe(false);
  });

  /** As the first process of its own world, with `bystander` beside it: all that it could end. */
  async function inItsOwnWorld(ownUid: number, bystander: string, ...options: string[]): Promise<unknown> {
    const setpriv = ['setpriv', ...options, ...killerOf(ownUid)];
    const world = spawn('unshare', [...FIRST_PROCESS, 'sh', '-c', `${bystander} "$@"`, 'sh', ...setpriv], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const exit = once(world, 'exit', { signal: AbortSignal.timeout(DEADLINE_MS) });
    world.stdin.on('error', () => undefined).end(String(UID));
    const answer = await text(world.stdout);
    return { answer, exit: await exit };
  }

  (MAY_UNSHARE ? it : it.skip)('is certain where a container has nobody but its first process', async () => {
    expect(await inItsOwnWorld(KILLER_UID, 'exec')).toEqual({ answer: '+', exit: [0, null] });
  });

  (MAY_UNSHARE ? it.each : it.skip.each)([
    ['the real uid of root', 0, []],
    ['a capability', KILLER_UID, ['--securebits', '+no_setuid_fixup']],
  ])('does nothing with %s', async (_what, ownUid, options) => {
    expect(await inItsOwnWorld(ownUid, 'sleep 5 >&- &', ...options)).toEqual({ answer: '', exit: [1, null] });
  });
});
