import { spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programFile } from '../../../test/support/built-program.js';
import { until } from '../../../test/support/until.js';

const MODULE = join(programFile('worker'), '../../../../libs/process/src/standard-output.js');
/** Root passes over the modes of files. */
const WITHOUT_PRIVILEGE =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set', '-dac_override,-dac_read_search'] : [];
const DEADLINE_MS = 20_000;
/** More than any pipe, socket or terminal keeps. */
const MANY_LINES = 1000;
/** A pipe takes a part of what is longer than a page. */
const PADDING = 9000;
/** What 1000 calls take at most that do not wait, on a busy machine. */
const AT_ONCE_MS = 5000;

/** Writes as many lines as it is told to, and answers how long that took. */
const PROGRAM = `
  const { standardOutput } = require(process.argv[1]);
  let line = 0;
  process.on('message', (lines) => {
    const startedMs = performance.now();
    for (const end = line + lines; line < end; line += 1) {
      standardOutput.write(JSON.stringify({ line, padding: 'x'.repeat(${PADDING}) }) + '\\n');
    }
    process.send(performance.now() - startedMs);
  });
  process.on('disconnect', () => process.exit(0));`;
const COMMAND = ['-e', PROGRAM, MODULE] as const;

interface Line {
  readonly line?: number;
  readonly event?: string;
  readonly lines?: number;
}

let directory: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'valise-standard-output-'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(directory, { recursive: true });
});

function start(stdio: StdioOptions): ChildProcess {
  const [file, ...args] = [...WITHOUT_PRIVILEGE, process.execPath, ...COMMAND];
  const child = spawn(file, args, { env: {}, stdio });
  children.push(child);
  return child;
}

/** How long the program took, in milliseconds, to write so many lines. */
async function write(child: ChildProcess, lines: number): Promise<number> {
  child.send(lines);
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const [tookMs] = (await once(child, 'message', { signal })) as [number];
  return tookMs;
}

/** Everything that is to be had at this moment. */
function drain(descriptor: number): string {
  const bytes = Buffer.alloc(65_536);
  let text = '';
  for (;;) {
    try {
      const length = readSync(descriptor, bytes);
      if (length === 0) return text;
      text += bytes.toString('latin1', 0, length);
    } catch {
      return text;
    }
  }
}

/** Every line is one, and none is missing that nobody said was lost. */
function expectWhole(text: string, written: number): void {
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  const told = lines.filter(({ event }) => event === 'log_lines_lost');
  const lost = told.reduce((sum, { lines: count }) => sum + (count ?? 0), 0);
  expect(told).toHaveLength(1);
  expect(lost).toBeGreaterThan(0);
  expect(lines.length - told.length + lost).toBe(written);
  expect(lines.at(-1)).toMatchObject({ line: written - 1 });
}

/** Both ends of a pipe. The `mode` decides whether it may be opened again. */
function pipe(mode = 0o600): { readonly reader: number; readonly writer: number } {
  const path = join(directory, 'pipe');
  spawnSync('mkfifo', ['-m', '600', path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, 'w');
  chmodSync(path, mode);
  return { reader, writer };
}

describe('a program’s log', () => {
  it.each([
    ['a pipe', 0o600],
    ['a pipe of somebody else’s', 0],
  ])(
    'goes on being written where the reader of %s stalls, and says what was lost once it reads again',
    async (_, mode) => {
      const { reader, writer } = pipe(mode);
      const child = start(['ignore', writer, 'inherit', 'ipc']);
      closeSync(writer);
      expect(await write(child, MANY_LINES)).toBeLessThan(AT_ONCE_MS);
      expect(await write(child, MANY_LINES)).toBeLessThan(AT_ONCE_MS);
      let text = drain(reader);
      await write(child, 3);
      text += drain(reader);
      closeSync(reader);
      expectWhole(text, 2 * MANY_LINES + 3);
    },
  );

  it('goes on being written where the reader of a socket stalls', async () => {
    const child = start(['ignore', 'pipe', 'inherit', 'ipc']);
    expect(await write(child, MANY_LINES)).toBeLessThan(AT_ONCE_MS);
    let text = '';
    child.stdout?.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    // What stood in the socket when it was full is read until nothing is left of it, whenever that is.
    let written = MANY_LINES;
    await until('the newest line', async () => {
      await write(child, 1);
      written += 1;
      return text.includes(`"line":${written - 1},`);
    });
    expectWhole(text, written);
  });

  it('goes on being written where a terminal stalls', async () => {
    const command = [process.execPath, ...COMMAND]
      .map((part) => `'${part.replaceAll("'", "'\\''")}'`)
      .join(' ');
    // The terminal's other end is held by `script`, which nobody reads.
    const child = spawn('script', ['-qc', `exec ${command}`, '/dev/null'], {
      env: { SHELL: '/bin/sh' },
      stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
    });
    children.push(child);
    expect(await write(child, MANY_LINES)).toBeLessThan(AT_ONCE_MS);
  });

  it.each(['/dev/null', '/dev/full'])('takes no time on %s', async (device) => {
    const output = openSync(device, 'w');
    const child = start(['ignore', output, 'inherit', 'ipc']);
    closeSync(output);
    expect(await write(child, MANY_LINES)).toBeLessThan(AT_ONCE_MS);
  });

  it('takes no time on a pipe that nobody reads any more', async () => {
    const { reader, writer } = pipe();
    const child = start(['ignore', writer, 'inherit', 'ipc']);
    closeSync(writer);
    await write(child, 1);
    closeSync(reader);
    expect(await write(child, MANY_LINES)).toBeLessThan(AT_ONCE_MS);
  });

  it('leaves the pipe as it was for the programs that share it', async () => {
    const { reader, writer } = pipe();
    const child = start(['ignore', writer, 'inherit', 'ipc']);
    await write(child, 1);
    const { stdout } = spawnSync('cat', [`/proc/${child.pid ?? 0}/fdinfo/1`], { encoding: 'latin1' });
    const flags = Number.parseInt(/^flags:\s+([0-7]+)$/m.exec(stdout)?.[1] ?? '', 8);
    expect(flags & constants.O_NONBLOCK).toBe(0);
    closeSync(reader);
    closeSync(writer);
  });
});
