import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { descendantsOf, isAlive, type ProcessId } from './process-tree.js';

const ROOT = resolve(__dirname, '../../../..');
const MAIN = join(ROOT, 'dist/cli/apps/cli/src/main.js');

interface Finished {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

class RunningDemo {
  output = '';
  errors = '';
  readonly pid: number;
  readonly #closed: Promise<unknown>;

  constructor(readonly child: ChildProcessByStdio<null, Readable, Readable>) {
    this.pid = child.pid!;
    child.stdout.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (this.errors += chunk.toString()));
    this.#closed = once(child, 'close');
  }

  async finished(): Promise<Finished> {
    await this.#closed;
    return { code: this.child.exitCode, output: this.output, errors: this.errors };
  }

  /** Waits until the task's own process runs, and tells everything that runs below. */
  async untilTaskRuns(): Promise<ProcessId[]> {
    for (;;) {
      if (this.child.exitCode !== null) throw new Error(`${this.output}${this.errors}`);
      const below = descendantsOf(this.pid);
      if (this.output.includes('has claimed the run') && below.some(isSleeping)) return below;
      await delay(50);
    }
  }
}

function isSleeping({ pid }: ProcessId): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('/bin/sleep\0');
  } catch {
    return false;
  }
}

async function untilGone(processes: readonly ProcessId[]): Promise<void> {
  while (processes.some(isAlive)) await delay(50);
}

describe('the demo', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'valise-demo-spec-'));
    chmodSync(directory, 0o711);
  });
  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  const environment = (): NodeJS.ProcessEnv => ({
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    TMPDIR: directory,
  });
  const start = (...args: string[]): RunningDemo =>
    new RunningDemo(
      spawn(process.execPath, ['--', MAIN, 'demo', ...args], {
        env: environment(),
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  const left = (): string[] => readdirSync(directory).filter((name) => name.startsWith('valise-demo-'));
  const untilNothingIsLeft = async (): Promise<void> => {
    while (left().length > 0) await delay(50);
  };

  it('takes 200 variables of a dotenv file to a process, finds none of them written down, and says so as JSON', async () => {
    const values = Array.from({ length: 200 }, (_, index) => `value-${index}-${'x'.repeat(index)}`);
    const file = join(directory, 'env');
    writeFileSync(file, values.map((value, index) => `SETTING_${index}='${value}'\n`).join(''));
    writeFileSync(join(directory, 'token'), 'ordinary-secret\n');

    const demo = start(
      '--json',
      '--env-file',
      file,
      '--secret',
      `TOKEN_FILE=${join(directory, 'token')}`,
      '--',
      '/usr/bin/env',
    );
    const { code, output } = await demo.finished();

    const result: unknown = JSON.parse(output.trimEnd().split('\n').at(-1)!);
    expect(result).toMatchObject({
      outcome: 'succeeded',
      exitCode: 0,
      found: 0,
      notDistinguishable: [],
      taskOutput: { names: 200, values: 0 },
      needles: 401,
      deliveries: [{ decision: 'authorised', outcome: 'sent', bundleCount: 1, secretCount: 1 }],
    });
    expect(code).toBe(0);
    for (const value of values) expect(output).not.toContain(value);
    expect(left()).toEqual([]);
  });

  it('shows that every byte of the built-in sample arrived, also twice at once', async () => {
    const demos = await Promise.all([start(), start()].map((demo) => demo.finished()));
    for (const { code, output } of demos) {
      expect(output).toContain('every byte arrived as it was');
      expect(output).toContain(' 0 found');
      expect(code).toBe(0);
    }
    expect(left()).toEqual([]);
  });

  it('ends with 1 when the task fails', async () => {
    const { code, output } = await start('--json', '--', '/bin/sh', '-c', 'exit 7').finished();
    expect(JSON.parse(output.trimEnd().split('\n').at(-1)!)).toMatchObject({
      outcome: 'failed',
      exitCode: 7,
      found: 0,
    });
    expect(code).toBe(1);
  });

  it.each([
    ['A=1\nB="hunter2', 'line 2'],
    ['A=1\n1BAD=hunter2', 'line 2'],
    [`A=1\n\nB=hunter2${'x'.repeat(16_384)}`, 'line 3'],
    ['LD_PRELOAD=hunter2', 'line 1'],
    ['A=1\nHOME=hunter2', 'line 2'],
  ])(
    'refuses bad input %#: the rule and the line, never the value, exit code 2, nothing left',
    async (text, line) => {
      const file = join(directory, 'env');
      writeFileSync(file, text);
      const { code, output, errors } = await start('--json', '--env-file', file).finished();
      expect(errors).toContain(line);
      expect(`${output}${errors}`).not.toContain('hunter2');
      expect(code).toBe(2);
      expect(left()).toEqual([]);
    },
  );

  it('stops everything and removes it on Ctrl-C', async () => {
    const demo = start('--', '/bin/sleep', '300');
    const below = await demo.untilTaskRuns();
    demo.child.kill('SIGINT');
    const { code } = await demo.finished();
    await untilGone(below);
    expect(code).toBe(130);
    expect(left()).toEqual([]);
  });

  it('leaves no process, key or data behind when it is killed with SIGKILL', async () => {
    const demo = start('--', '/bin/sleep', '300');
    const below = await demo.untilTaskRuns();
    expect(left()).toHaveLength(1);
    demo.child.kill('SIGKILL');
    await untilGone(below);
    await untilNothingIsLeft();
  });

  it('leaves no process, key or data behind when npm is killed with SIGKILL', async () => {
    const npm = new RunningDemo(
      spawn('npm', ['run', '-s', 'demo', '--', '--', '/bin/sleep', '300'], {
        cwd: ROOT,
        env: environment(),
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
    const below = await npm.untilTaskRuns();
    npm.child.kill('SIGKILL');
    await untilGone(below);
    await untilNothingIsLeft();
  });

  it('keeps everything running in a directory until Ctrl-C, and tells how to reach it', async () => {
    const keep = join(directory, 'kept');
    const demo = start('--keep', keep);
    while (!demo.output.includes('until you press Ctrl-C') || !demo.output.includes('Logs:')) await delay(50);
    const command = /curl --cacert .*/.exec(demo.output)![0];
    const curl = spawn('/bin/sh', ['-c', `${command} -s -w '%{http_code}'`], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [answer] = (await once(curl.stdout, 'data')) as [Buffer];
    expect(answer.toString()).toContain('"succeeded"');
    const below = descendantsOf(demo.pid);
    demo.child.kill('SIGINT');
    const { code } = await demo.finished();
    await untilGone(below);
    expect(code).toBe(0);
    expect(readdirSync(directory)).toEqual(['kept']);
    expect(readdirSync(keep)).toEqual([]);
  });
});
