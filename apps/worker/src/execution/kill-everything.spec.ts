import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { IS_ROOT, TEST_BASE_UID } from '../../spec/worker-under-test.js';
import { killEverything } from './kill-everything.js';

const UID = TEST_BASE_UID + 700;
const OTHER_UID = TEST_BASE_UID + 701;
const DEADLINE_MS = 10_000;

/** Ends by itself soon after the test would have failed. */
const sleeper = (uid: number): ChildProcess =>
  spawn('/bin/sleep', ['30'], { uid, gid: uid, detached: true, stdio: 'ignore', env: {} });

(IS_ROOT ? describe : describe.skip)('the act that ends a slot', () => {
  it('ends every process of its uid, also of other sessions, and none of another', async () => {
    const slot = [sleeper(UID), sleeper(UID), sleeper(UID)];
    const other = sleeper(OTHER_UID);
    try {
      const signal = AbortSignal.timeout(DEADLINE_MS);
      const ends = Promise.all(slot.map((child) => once(child, 'exit', { signal })));
      expect(await killEverything(UID)).toBe(true);
      expect((await ends).map(([, how]) => how as unknown)).toEqual(['SIGKILL', 'SIGKILL', 'SIGKILL']);
      expect(other.exitCode).toBeNull();
      expect(other.signalCode).toBeNull();
    } finally {
      for (const child of [...slot, other]) child.kill('SIGKILL');
    }
  });
});
