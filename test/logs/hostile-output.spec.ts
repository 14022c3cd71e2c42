import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readLogRecords, textOfLog } from '@valise/contracts/documents';
import type { Question } from '../../apps/worker/spec/fake-control.js';
import { plan, reference } from '../../apps/worker/spec/plan.js';
import { IS_ROOT, WorkerUnderTest } from '../../apps/worker/spec/worker-under-test.js';
import { report, verification } from '../support/verification.js';

const MEBIBYTE = 1024 * 1024;
const QUOTA = MEBIBYTE;
/** What the worker may take more while a task writes, whatever it writes; most of it is what waits to be collected. */
const GROWTH_BYTES = 192 * MEBIBYTE;
const DEADLINE_MS = 60_000 + verification.outputBytes / 5_000 + verification.silenceMs;
const LONGEST_LINE_BYTES = Math.min(verification.outputBytes, 100_000_000);
const LINES = Math.min(verification.outputBytes / 200, 1_000_000);
const LINE = 'a line of the output\n';
const SECRET = reference('token');
const VALUE = 'correct horse battery';

let worker: WorkerUnderTest;
let shared: string;

beforeEach(async () => {
  worker = await WorkerUnderTest.create({ leaseDurationMs: 30_000 });
  worker.control.secrets.set(SECRET, Buffer.from(VALUE));
  shared = mkdtempSync(join(tmpdir(), 'valise-output-'));
  chmodSync(shared, 0o777);
});
afterEach(async () => {
  await worker.remove();
  rmSync(shared, { recursive: true });
});

interface Told {
  readonly log: Buffer;
  readonly text: Buffer;
  readonly truncated: unknown;
  readonly result: unknown;
  /** What the worker took more at most, of memory and of the disk, in bytes. */
  readonly growth: number;
  readonly onDisk: number;
}

/** What control is told of the task in the end. */
async function told(script: string): Promise<Told> {
  let peak = 0;
  let onDisk = 0;
  const before = process.memoryUsage.rss();
  const look = (): void => {
    peak = Math.max(peak, process.memoryUsage.rss());
    onDisk = Math.max(onDisk, diskBytes());
  };
  const looking = setInterval(look, 20);
  try {
    const environment = [{ name: 'TOKEN', kind: 'secret' as const, secretRef: SECRET }];
    worker.control.queue.push(plan(script, { environment }));
    await worker.start();
    const completion = await heard('completion');
    look();
    const { content: log, body } = await heard('artifacts');
    expect(completion.body.artifact).toMatchObject({ byteLength: log.length, truncated: body.truncated });
    const { result } = completion.body;
    return { log, text: textOfLog(log), truncated: body.truncated, result, growth: peak - before, onDisk };
  } finally {
    clearInterval(looking);
  }
}

const heard = (operation: string): Promise<Question> => worker.control.heard(operation, 1, DEADLINE_MS);

function diskBytes(): number {
  const artifacts = join(worker.stateDirectory, 'artifacts');
  try {
    return readdirSync(artifacts).reduce((sum, name) => sum + sizeOf(join(artifacts, name)), 0);
  } catch {
    // The worker has not begun.
    return 0;
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** What the log says is missing, and what stands before and after that. */
function gapOf(log: Buffer): { missing: number; head: Buffer; tail: Buffer } {
  const records = [...readLogRecords(log)];
  const at = records.findIndex(({ stream }) => stream === 'valise');
  const written = (some: typeof records): Buffer =>
    Buffer.concat(
      some.flatMap(({ content, endsLine }) => [content, ...(endsLine ? [Buffer.from('\n')] : [])]),
    );
  const [, missing] =
    /^(\d+) bytes of the output/.exec(Buffer.from(records[at]?.content ?? []).toString()) ?? [];
  expect(records.filter(({ stream }) => stream === 'valise')).toHaveLength(1);
  return {
    missing: Number(missing),
    head: written(records.slice(0, at)),
    tail: written(records.slice(at + 1)),
  };
}

/** So many bytes from the place on of a line that is written again and again. */
function repeated(start: number, length: number): Buffer {
  const offset = start % LINE.length;
  return Buffer.from(LINE.repeat(Math.ceil(length / LINE.length) + 1)).subarray(offset, offset + length);
}

describe('a task that writes', () => {
  it(
    'far more than the quota keeps its beginning and its end, and the log says how much is missing',
    async () => {
      const { outputBytes } = verification;
      const startedMs = performance.now();
      const { log, truncated, result, growth, onDisk } = await told(
        `yes '${LINE.trim()}' | head -c ${outputBytes}; exit 3`,
      );
      expect(result).toMatchObject({ outcome: 'failed', exitCode: 3 });
      expect(truncated).toBe(true);
      const { missing, head, tail } = gapOf(log);
      expect(head.equals(repeated(0, head.length))).toBe(true);
      expect(tail.equals(repeated(outputBytes - tail.length, tail.length))).toBe(true);
      expect(Math.min(head.length, tail.length)).toBeGreaterThan(QUOTA / 12);
      // Of records, not of text: each line has its time and its stream besides.
      const lost = outputBytes - head.length - tail.length;
      const records = lost / LINE.length;
      expect(missing).toBeGreaterThan(lost + 33 * records);
      expect(missing).toBeLessThan(lost + 36 * records);
      expect(log.length).toBeLessThanOrEqual(QUOTA);
      expect(onDisk).toBeLessThanOrEqual(QUOTA);
      expect(growth).toBeLessThan(GROWTH_BYTES);
      const seconds = (performance.now() - startedMs) / 1000;
      report(`hostile output: ${outputBytes} bytes in ${seconds.toFixed(0)} s, ${growth} bytes more memory`);
    },
    DEADLINE_MS * 2,
  );

  it.each([
    ['NULs alone', 4 * MEBIBYTE, '', 0],
    ['one line', LONGEST_LINE_BYTES, `| tr '\\0' x`, 'x'.charCodeAt(0)],
  ])('%s keeps as much of it as the quota lets', async (_what, bytes, change, byte) => {
    const { text, log, truncated, result, growth, onDisk } = await told(
      `head -c ${bytes} /dev/zero ${change}`,
    );
    expect(result).toMatchObject({ outcome: 'succeeded' });
    expect(truncated).toBe(true);
    const { head, tail } = gapOf(log);
    for (const part of [head, tail]) expect(part.every((each) => each === byte)).toBe(true);
    expect(text.length).toBeGreaterThan(QUOTA / 2);
    expect(onDisk).toBeLessThanOrEqual(QUOTA);
    expect(growth).toBeLessThan(GROWTH_BYTES);
  });

  it('very many lines loses none and changes the order of none', async () => {
    await worker.remove();
    worker = await WorkerUnderTest.create({ logLimits: { maxBytes: 64 * MEBIBYTE, reserveBytes: 0 } });
    worker.control.secrets.set(SECRET, Buffer.from(VALUE));
    const { text, truncated } = await told(`seq ${LINES}`);
    const expected = Buffer.from(Array.from({ length: LINES }, (_none, at) => `${at + 1}\n`).join(''));
    expect({ isEqual: text.equals(expected), truncated }).toEqual({ isEqual: true, truncated: false });
  });

  it('bytes that are no text, and no last line end, has them in its log as they came', async () => {
    const bytes = Buffer.concat([
      Buffer.from('\n\r\0\xff\xfe\xc3\n\n', 'latin1'),
      randomBytes(300_000),
      Buffer.of(0xc3),
    ]);
    writeFileSync(join(shared, 'bytes'), bytes, { mode: 0o644 });
    const { text, truncated } = await told(`cat ${shared}/bytes`);
    expect({ isEqual: text.equals(bytes), truncated }).toEqual({ isEqual: true, truncated: false });
  });
});

describe('a task that says', () => {
  it(
    'nothing for long costs the worker next to nothing, and what it says then is in its log',
    async () => {
      const { silenceMs } = verification;
      const ended = told(
        `echo begun > ${shared}/.begun; mv ${shared}/.begun ${shared}/begun; sleep ${silenceMs / 1000}; echo at last`,
      );
      await heard('running');
      const before = process.cpuUsage();
      const { text, result, growth } = await ended;
      const { user, system } = process.cpuUsage(before);
      expect(readFileSync(join(shared, 'begun'), 'utf8')).toBe('begun\n');
      expect({ text: text.toString(), result }).toMatchObject({
        text: 'at last\n',
        result: { outcome: 'succeeded' },
      });
      expect((user + system) / 1000).toBeLessThan(300 + silenceMs / 5);
      expect(growth).toBeLessThan(GROWTH_BYTES);
      report(
        `hostile output: ${silenceMs} ms of silence took ${((user + system) / 1000).toFixed(0)} ms of CPU`,
      );
    },
    DEADLINE_MS * 2,
  );

  it.each([
    ['its standard output', 'exec >&-; echo "$TOKEN" >&2; exit 4', '***\n'],
    ['both its outputs', 'echo out; exec >&- 2>&-; sleep 0.2; exit 4', 'out\n'],
  ])('that it closes %s ends as its process does', async (_what, script, expected) => {
    const { text, truncated, result } = await told(script);
    expect({ text: text.toString(), truncated }).toEqual({ text: expected, truncated: false });
    expect(result).toMatchObject({ outcome: 'failed', exitCode: 4 });
  });
});

describe('a process that a task leaves behind with its output open', () => {
  it('is ended, and the log is whole', async () => {
    const { text, truncated, result } = await told('sleep 600 & echo left; exit 0');
    expect({ text: text.toString(), truncated }).toEqual({ text: 'left\n', truncated: false });
    expect(result).toMatchObject({ outcome: 'succeeded' });
  });

  (IS_ROOT ? it : it.skip)(
    'and that nobody finds holds the attempt up no longer than a moment; its log is cut',
    async () => {
      await worker.remove();
      worker = await WorkerUnderTest.create({ isolation: { kind: 'shared_uid', uid: 0 } });
      worker.control.secrets.set(SECRET, Buffer.from(VALUE));
      const stranger = `echo $$ > ${shared}/pid; exec sleep 600`;
      const leave = `setsid env -i PATH=/usr/bin:/bin sh -c '${stranger}' &`;
      try {
        const { text, truncated, result } = await told(
          `${leave} while [ ! -s ${shared}/pid ]; do sleep 0.02; done; echo left; exit 0`,
        );
        expect({ text: text.toString(), result }).toMatchObject({ result: { outcome: 'succeeded' } });
        expect(text.toString()).toMatch(/^left\n/);
        expect(truncated).toBe(true);
      } finally {
        process.kill(Number(readFileSync(join(shared, 'pid'), 'utf8')), 'SIGKILL');
      }
    },
  );
});
