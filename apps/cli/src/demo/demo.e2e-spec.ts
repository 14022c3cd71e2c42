import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { until } from '../../../../test/support/until.js';
import { descendantsOf, identify, isAlive, type ProcessId } from './process-tree.js';

const ROOT = resolve(__dirname, '../../../..');
const MAIN = join(ROOT, 'dist/cli/apps/cli/src/main.js');
/** With everything that a demo starts, on a busy machine. */
const PATIENCE = { deadlineMs: 100_000, everyMs: 50 };

interface Finished {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
  /** The last line. */
  readonly json: unknown;
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
    const { output, errors } = this;
    const last = output.trimEnd().split('\n').at(-1) ?? '';
    return {
      code: this.child.exitCode,
      output,
      errors,
      json: last.startsWith('{') ? JSON.parse(last) : null,
    };
  }

  async says(text: string): Promise<void> {
    const look = (): boolean => {
      if (this.child.exitCode !== null) throw new Error(`${this.output}${this.errors}`);
      return this.output.includes(text);
    };
    await until(text, look, PATIENCE);
  }

  /** Waits until the task and its daemons run, and tells everything that runs for this demo. */
  async untilRunning(daemons: Daemons): Promise<ProcessId[]> {
    await this.says('has claimed the run');
    await until('the task and its daemons', () => daemons.find().length === 3, PATIENCE);
    return [...descendantsOf(this.pid), ...daemons.find()];
  }
}

/** A task with two daemons: one in a session of its own, one that forgot its environment. */
class Daemons {
  static #count = 0;
  /** Says whose they are. */
  readonly #seconds = `${1_000_000 + process.pid}${(Daemons.#count += 1)}`;

  readonly command = [
    ...['--', '/bin/sh', '-c', 'setsid sleep "$1" & env -i sleep "$1" & exec sleep "$1"', 'sh'],
    this.#seconds,
  ];

  find(): ProcessId[] {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const own = pids.filter((pid) => commandLine(pid) === `sleep\0${this.#seconds}\0`);
    return own.flatMap((pid) => identify(Number(pid)) ?? []);
  }
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

const untilGone = (processes: readonly ProcessId[]): Promise<true> =>
  until('the end of every process', () => !processes.some(isAlive), PATIENCE);

describe('the demo', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'valise-demo-spec-'));
    chmodSync(directory, 0o711);
  });
  const demos: RunningDemo[] = [];
  afterEach(() => {
    for (const { child } of demos.splice(0)) child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });

  const run = (file: string, args: string[]): RunningDemo => {
    const demo = new RunningDemo(
      spawn(file, args, {
        cwd: ROOT,
        env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: directory },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
    demos.push(demo);
    return demo;
  };
  const start = (...args: string[]): RunningDemo => run(process.execPath, ['--', MAIN, 'demo', ...args]);
  const left = (): string[] => readdirSync(directory).filter((name) => name.startsWith('valise-demo-'));
  const file = (name: string, content: string): string => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };

  it('takes 200 variables of a dotenv file to a process and finds none written down, also with another demo beside it', async () => {
    const values = Array.from({ length: 200 }, (_, index) => `value-${index}-${'x'.repeat(index)}`);
    const environment = file('env', values.map((value, index) => `SETTING_${index}='${value}'\n`).join(''));
    const secret = `TOKEN_FILE=${file('token', 'ordinary-secret\n')}`;
    const [own, sample] = await Promise.all([
      start('--json', '--env-file', environment, '--secret', secret, '--', '/usr/bin/env').finished(),
      start().finished(),
    ]);

    expect(own.json).toMatchObject({
      outcome: 'succeeded',
      exitCode: 0,
      found: 0,
      notDistinguishable: [],
      taskOutput: { names: 200, values: 0 },
      needles: 401,
      deliveries: [{ decision: 'authorised', outcome: 'sent', bundleCount: 1, secretCount: 1 }],
    });
    expect(own.code).toBe(0);
    for (const value of values) expect(own.output).not.toContain(value);

    expect(sample.output).toContain('every byte arrived as it was');
    expect(sample.output).toContain(' 0 found');
    expect(sample.code).toBe(0);
    expect(left()).toEqual([]);
  });

  it('refuses a broken rule with its line, never the value: exit code 2, JSON, nothing left', async () => {
    const { code, output, errors, json } = await start(
      '--json',
      '--env-file',
      file('env', 'A=1\n1BAD=hunter2'),
    ).finished();
    expect(errors).toContain('line 2');
    expect(json).toMatchObject({ outcome: 'refused', found: 0, steps: [] });
    expect(`${output}${errors}`).not.toContain('hunter2');
    expect(code).toBe(2);
    expect(left()).toEqual([]);
  });

  it.each([
    ['an unknown option', ['--json', '--unknown']],
    ['an option without its value', ['--json', '--keep']],
    ['a secret that may stand where its file should', ['--json', '--secret', 'hunter2']],
  ])('answers %s with JSON too, and exit code 2', async (_, args) => {
    const { code, output, errors, json } = await start(...args).finished();
    expect(json).toMatchObject({ outcome: 'refused', exitCode: null, taskOutput: { names: 0, values: 0 } });
    expect(`${output}${errors}`).not.toContain('hunter2');
    expect(code).toBe(2);
  });

  it('ends everything, the task’s daemons too, and removes it on SIGTERM', async () => {
    const daemons = new Daemons();
    const demo = start(...daemons.command);
    const running = await demo.untilRunning(daemons);
    demo.child.kill('SIGTERM');
    const { code } = await demo.finished();
    expect(running.filter(isAlive)).toEqual([]);
    expect(code).toBe(143);
    expect(left()).toEqual([]);
  });

  it('leaves no process, key or data behind when it is killed with SIGKILL, also where a link leads', async () => {
    const kept = join(directory, 'kept');
    mkdirSync(kept);
    symlinkSync(kept, join(directory, 'link'));
    const daemons = new Daemons();
    const demo = start('--keep', join(directory, 'link'), ...daemons.command);
    const running = await demo.untilRunning(daemons);
    expect(readdirSync(kept)).toContain('pki');
    demo.child.kill('SIGKILL');
    await untilGone(running);
    await until('an empty directory', () => readdirSync(kept).length === 0, PATIENCE);
  });

  it('leaves no process, key or data behind when npm is killed with SIGKILL', async () => {
    const daemons = new Daemons();
    const npm = run('npm', ['run', '-s', 'demo', '--', ...daemons.command]);
    const running = await npm.untilRunning(daemons);
    expect(left()).toHaveLength(1);
    npm.child.kill('SIGKILL');
    await untilGone(running);
    await until('no directory of a demo', () => left().length === 0, PATIENCE);
  });

  it('ends quietly, with nothing left, when nobody reads its output any more', async () => {
    const demo = start();
    await demo.says('PostgreSQL runs');
    const running = descendantsOf(demo.pid);
    demo.child.stdout.destroy();
    const { code, errors } = await demo.finished();
    await untilGone(running);
    expect(errors).toBe('');
    expect(code).toBe(141);
    expect(left()).toEqual([]);
  });

  it('keeps everything running until Ctrl-C, tells how to reach it, and ends with 1 when the task failed', async () => {
    const keep = join(directory, 'kept');
    const demo = start('--json', '--keep', keep, '--', '/bin/sh', '-c', "printf '\\033[31mred'; exit 7");
    await demo.says('Logs:');
    const command = /curl --cacert .*/.exec(demo.output)![0];
    const { stdout } = spawnSync('/bin/sh', ['-c', `${command} -s`], { encoding: 'utf8' });
    expect(stdout).toContain('"failed"');
    const running = descendantsOf(demo.pid);
    demo.child.kill('SIGINT');
    const { code, output, json } = await demo.finished();
    await untilGone(running);
    expect(output).toContain(String.raw`| \x1b[31mred`);
    expect(json).toMatchObject({ outcome: 'failed', exitCode: 7, found: 0 });
    expect(code).toBe(1);
    expect(readdirSync(directory)).toEqual(['kept']);
    expect(readdirSync(keep)).toEqual([]);
  });
});
