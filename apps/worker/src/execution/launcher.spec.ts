import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { IS_ROOT, TEST_BASE_UID } from '../../spec/worker-under-test.js';
import { inheritableDescriptors } from '@valise/process';
import { WorkerConfig, type Isolation } from '../config/worker-config.js';
import { AttemptRefused } from './halt.js';
import { writeHandover } from './handover.js';
import { Launcher, type ProcessEnd } from './launcher.js';

const SHARED: Isolation = { kind: 'shared_uid', uid: process.getuid?.() ?? -1 };
const PER_SLOT: Isolation = { kind: 'uid_per_slot', baseUid: TEST_BASE_UID + 100 };
const SLOT = 7;

const stateDirectory = mkdtempSync(join(tmpdir(), 'valise-launcher-'));
afterAll(() => {
  rmSync(stateDirectory, { recursive: true });
});

const launcherFor = (isolation: Isolation): Launcher => {
  const config = Object.create(WorkerConfig.prototype) as WorkerConfig;
  return new Launcher(Object.assign(config, { isolation, stateDirectory }));
};

async function textOf(stream: Readable): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += (chunk as Buffer).toString('latin1');
  return text;
}

interface Outcome extends ProcessEnd {
  readonly stdout: string;
}

async function run(
  launcher: Launcher,
  argv: readonly string[],
  more: { workingDirectory?: string; value?: string } = {},
): Promise<Outcome> {
  const { workingDirectory = '/', value = 'v' } = more;
  const handover = writeHandover([
    { name: 'PATH', value: Buffer.from('/usr/bin:/bin') },
    { name: 'SECRET', value: Buffer.from(value) },
  ]);
  const channels = await launcher.openChannels();
  const launched = launcher.launch({ slot: SLOT, argv, workingDirectory, handover, channels });
  await launched.executing;
  const [stdout, end] = await Promise.all([textOf(launched.stdout), launched.ended, textOf(launched.stderr)]);
  expect(handover.every((byte) => byte === 0)).toBe(true);
  return { ...end, stdout };
}

async function refusal(started: Promise<unknown>): Promise<unknown> {
  try {
    await started;
    return 'started';
  } catch (error) {
    return error instanceof AttemptRefused ? error.reasonCode : error;
  }
}

const shell = (script: string): string[] => ['/bin/sh', '-c', script];

describe.each([
  ['the worker’s own uid', SHARED],
  ...(IS_ROOT ? [['a uid per slot', PER_SLOT] as const] : []),
] as const)('a task under %s', (_, isolation) => {
  const launcher = launcherFor(isolation);
  afterAll(() => launcher.onModuleDestroy());

  it('has exactly the environment it was given', async () => {
    const { stdout } = await run(launcher, ['/bin/cat', '/proc/self/environ'], { value: "a'\n$b" });
    expect(stdout.split('\0').sort()).toEqual(['', 'PATH=/usr/bin:/bin', "SECRET=a'\n$b"]);
  });

  it('is what the kernel ends before the worker where memory runs out', async () => {
    const { stdout } = await run(launcher, ['/bin/cat', '/proc/self/oom_score_adj']);
    expect(stdout).toBe('1000\n');
  });

  it('has no descriptor of ours, nothing on standard input, and no core file', async () => {
    // The limit that it would inherit is none.
    spawnSync('prlimit', ['--pid', String(process.pid), '--core=unlimited:'], { stdio: 'ignore' });
    const { stdout } = await run(
      launcher,
      shell('ulimit -c; umask; readlink /proc/self/fd/0; echo /proc/self/fd/*'),
    );
    const [core, umask, stdin, descriptors] = stdout.split('\n');
    expect([core, umask, stdin]).toEqual(['0', '0077', '/dev/null']);
    // What jest itself was started with is not ours to close; one more is the shell's own, for the listing.
    const inherited = inheritableDescriptors();
    const numbers = descriptors!.split(' ').map((path) => Number(path.split('/').at(-1)));
    expect(numbers.filter((number) => number > 3 && !inherited.includes(number))).toEqual([]);
  });

  it('gains no privilege and leads a session of its own', async () => {
    const { stdout } = await run(
      launcher,
      shell('grep NoNewPrivs /proc/self/status; cut -d" " -f1,6 /proc/$$/stat'),
    );
    const [privileges, process] = stdout.split('\n');
    expect(privileges).toMatch(/1$/);
    const [pid, session] = process!.split(' ');
    expect(session).toBe(pid);
  });

  it.each([0, 1, 125, 126, 127])('ends with its own exit code %d', async (exitCode) => {
    expect(await run(launcher, shell(`exit ${exitCode}`))).toMatchObject({ exitCode, signal: null });
  });

  it('ends with the signal that killed it', async () => {
    expect(await run(launcher, shell('kill -ABRT $$'))).toMatchObject({ exitCode: null, signal: 'SIGABRT' });
  });

  it('runs where it was told to', async () => {
    expect(await run(launcher, shell('pwd'), { workingDirectory: '/usr/bin' })).toMatchObject({
      stdout: '/usr/bin\n',
    });
  });

  it('runs a file with a name that only looks like an option', async () => {
    expect(await run(launcher, ['/bin/echo', '-n', '--', '$HOME'])).toMatchObject({ stdout: '-- $HOME' });
  });

  it('does not start when the command, its interpreter or the directory is missing', async () => {
    const script = join('/tmp', `valise-no-interpreter-${process.pid}`);
    writeFileSync(script, '#!/no/such/interpreter\n', { mode: 0o755 });
    try {
      expect(await refusal(run(launcher, ['/no/such/command']))).toBe('command_not_found');
      expect(await refusal(run(launcher, [script]))).toBe('command_not_found');
    } finally {
      rmSync(script);
    }
    expect(await refusal(run(launcher, ['/bin/true'], { workingDirectory: '/no/such' }))).toBe(
      'command_not_found',
    );
  });

  it('does not start when the command is no executable file', async () => {
    expect(await refusal(run(launcher, ['/etc/passwd']))).toBe('command_not_executable');
    expect(await refusal(run(launcher, ['/etc']))).toBe('command_not_executable');
  });

  it('does not start when one argument, or all together, are too long for exec', async () => {
    const long = 'x'.repeat(131_072);
    expect(await refusal((async () => run(launcher, ['/bin/true', long]))())).toBe('argument_list_too_long');
    const many = Array.from({ length: 20 }, () => 'x'.repeat(100_000));
    const value = 'y'.repeat(130_000);
    expect(await refusal((async () => run(launcher, ['/bin/true', ...many], { value }))())).toBe(
      'argument_list_too_long',
    );
  });

  it('runs with the largest environment and the longest command line together', async () => {
    const argv = ['/bin/true', ...Array.from({ length: 4 }, () => 'x'.repeat(16_000))];
    expect(await run(launcher, argv, { value: 'y'.repeat(65_000) })).toMatchObject({ exitCode: 0 });
  });
});

(IS_ROOT ? describe : describe.skip)('a slot', () => {
  it('has a uid and gid of its own and no other group', async () => {
    const launcher = launcherFor(PER_SLOT);
    const { stdout } = await run(launcher, shell('id -u; id -g; id -G'));
    await launcher.onModuleDestroy();
    const uid = String(TEST_BASE_UID + 100 + SLOT);
    expect(stdout).toBe(`${uid}\n${uid}\n${uid}\n`);
  });
});
