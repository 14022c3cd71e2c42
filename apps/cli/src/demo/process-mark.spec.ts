import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { endMarked, markedBy, type ProcessMark } from './process-mark.js';
import { identify, isAlive } from './process-tree.js';

/** Starts a shell that leaves a daemon in a session of its own, and tells the daemon's process id. */
async function daemon(shell: ChildProcess): Promise<number> {
  const [line] = (await once(shell.stdout!, 'data')) as [Buffer];
  return Number(line.toString());
}
const SCRIPT = 'setsid /bin/sh -c \'echo "$$"; exec sleep 300\' & wait';

describe('processes with a mark', () => {
  it('all end, also one that left its parent, its group and its session', async () => {
    const entry = `VALISE_SPEC_MARK=${randomUUID()}`;
    const [name = '', value = ''] = entry.split('=');
    const mark: ProcessMark = { kind: 'environment', entry };
    const shell = spawn('/bin/sh', ['-c', SCRIPT], {
      env: { PATH: process.env.PATH, [name]: value },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const left = identify(await daemon(shell))!;
    expect(markedBy(mark).map(({ pid }) => pid)).toEqual([shell.pid, left.pid]);
    await endMarked(mark);
    expect(isAlive(left)).toBe(false);
    expect(markedBy(mark)).toEqual([]);
  });

  it('are not those whose environment merely contains it', async () => {
    const entry = `VALISE_SPEC_MARK=${randomUUID()}`;
    const other = spawn('/bin/sleep', ['300'], { env: { X: `=${entry}`, Y: `${entry}-longer` } });
    expect(markedBy({ kind: 'environment', entry })).toEqual([]);
    other.kill('SIGKILL');
    await once(other, 'exit');
  });

  const asRoot = process.getuid?.() === 0 ? it : it.skip;
  asRoot('by a user id all end, a storm of forks included', async () => {
    const mark: ProcessMark = { kind: 'uid', uid: 60_000 + (process.pid % 500) };
    const storm = 'f() { setsid /bin/sh -c "sleep 0.01" & }; echo "$$"; while :; do f; done';
    const shell = spawn('/bin/sh', ['-c', storm], {
      uid: mark.uid,
      gid: mark.uid,
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await daemon(shell);
    await endMarked(mark);
    expect(markedBy(mark)).toEqual([]);
  });
});
