import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, readdirSync, readFileSync, readlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Program } from '../apps/cli/src/demo/program.js';
import { programFile } from './support/built-program.js';
import { useDeployment } from './support/deployment.js';
import { useDatabase } from './support/postgres.js';
import { logged } from './support/programs.js';

const deployment = useDeployment(useDatabase());

/** Node opens its inspector within milliseconds of the signal. */
const INSPECTOR_MS = 500;
const LISTENING = '0A';

/** The addresses that a process listens at. */
function listensAt(pid: number): string[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((descriptor) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${descriptor}`))?.[1] ?? [];
      } catch {
        return [];
      }
    }),
  );
  const [, ...lines] = readFileSync(`/proc/${pid}/net/tcp`, 'latin1').trim().split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === LISTENING && sockets.has(inode ?? ''))
    .map(([, address]) => address ?? '');
}

/** The writing end of a pipe that takes nothing more. */
function fullPipe(): number {
  const path = join(deployment().directory, `full-pipe-${randomUUID()}`);
  spawnSync('mkfifo', ['-m', '600', path]);
  // Open for reading as well, so that the pipe has a reader for as long as it has a writer.
  const filler = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_RDWR);
  expect(() => {
    for (;;) writeSync(filler, Buffer.alloc(4096));
  }).toThrow('EAGAIN');
  closeSync(filler);
  return writer;
}

const CONFIGURATION_INVALID = { control: 2, worker: 1 };

describe.each(['control', 'worker'] as const)('%s', (name) => {
  it.each(['a full disk', 'a pipe whose reader stalls'])(
    'does what it would do otherwise when its log goes to %s',
    (kind) => {
      const output = kind === 'a full disk' ? openSync('/dev/full', 'w') : fullPipe();
      // Without settings it says which one it lacks, and ends.
      const { status, signal } = spawnSync(process.execPath, [programFile(name)], {
        env: {},
        stdio: ['ignore', output, 'ignore'],
        timeout: 20_000,
      });
      closeSync(output);
      expect([status, signal]).toEqual([CONFIGURATION_INVALID[name], null]);
    },
  );

  let program: Program;
  beforeAll(async () => {
    if (name === 'control') program = deployment().control;
    else {
      await deployment().allow('own-process');
      program = await deployment().startWorker('own-process');
      await logged(program, 'registered');
    }
  });

  it('leaves no core file, and puts no memory into one that a handler takes', () => {
    expect(readFileSync(`/proc/${program.pid}/limits`, 'latin1')).toMatch(/^Max core file size\s+0\s+0/m);
    expect(Number.parseInt(readFileSync(`/proc/${program.pid}/coredump_filter`, 'latin1'), 16)).toBe(0);
  });

  it('opens no debugger when it is signalled', async () => {
    const before = listensAt(program.pid);
    process.kill(program.pid, 'SIGUSR1');
    await delay(INSPECTOR_MS);
    expect(listensAt(program.pid)).toEqual(before);
    expect(deployment().logs()).not.toContain('Debugger listening');
  });
});
