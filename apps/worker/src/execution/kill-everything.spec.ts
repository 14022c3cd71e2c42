import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { IS_ROOT, TEST_BASE_UID } from '../../spec/worker-under-test.js';
import { killerOf, killEverything } from './kill-everything.js';

const UID = TEST_BASE_UID + 700;
const OTHER_UID = TEST_BASE_UID + 701;
const DEADLINE_MS = 10_000;
/** What runs a command as the first process of its own world, as a container does; root may not do so everywhere. */
const FIRST_PROCESS = ['--pid', '--fork', '--mount-proc'];
const MAY_UNSHARE = spawnSync('unshare', [...FIRST_PROCESS, 'true']).status === 0;

/** Ends by itself soon after the test would have failed. */
const sleeper = (uid: number): ChildProcess =>
  spawn('/bin/sleep', ['30'], { uid, gid: uid, detached: true, stdio: 'ignore', env: {} });

/** Killers of other workers of this machine may end ours: then it is asked again, as a worker does. */
async function becomesCertain(kill: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await kill())) {
    if (performance.now() > deadline) throw new Error('the killer is never certain');
  }
}

(IS_ROOT ? describe : describe.skip)('the act that ends a slot', () => {
  it('ends every process of its uid, also of other sessions, and none of another', async () => {
    const slot = [sleeper(UID), sleeper(UID), sleeper(UID)];
    const other = sleeper(OTHER_UID);
    try {
      const signal = AbortSignal.timeout(DEADLINE_MS);
      const ends = Promise.all(slot.map((child) => once(child, 'exit', { signal })));
      await becomesCertain(() => killEverything(UID));
      expect((await ends).map(([, how]) => how as unknown)).toEqual(['SIGKILL', 'SIGKILL', 'SIGKILL']);
      expect(other.exitCode).toBeNull();
      expect(other.signalCode).toBeNull();
    } finally {
      for (const child of [...slot, other]) child.kill('SIGKILL');
    }
  });

  (MAY_UNSHARE ? it : it.skip)('is certain where a container has nobody but its first process', async () => {
    await becomesCertain(async () => {
      const killer = spawn('unshare', [...FIRST_PROCESS, 'setpriv', ...killerOf(UID)], { stdio: 'ignore' });
      const [exitCode] = (await once(killer, 'exit')) as [number | null];
      return exitCode === 0;
    });
  });
});
