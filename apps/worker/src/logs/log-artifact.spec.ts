import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, open, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { readLogRecords, textOfLog, writeLogRecords } from '@valise/contracts/documents';
import { until } from '../../../../test/support/until.js';
import { WorkerConfig } from '../config/worker-config.js';
import type { LogArtifact } from './log-artifact.js';
import type { LogLimits } from './log-file.js';
import { LogStore } from './log-store.js';
import { MaskPatterns } from './mask-patterns.js';

const VALUE = 'correct horse battery';
const ID = `wlog-${'0'.repeat(30)}`;

let directory: string;
let store: LogStore;

const storeWith = (logLimits: LogLimits): Promise<LogStore> =>
  LogStore.open(
    Object.assign(Object.create(WorkerConfig.prototype) as WorkerConfig, {
      stateDirectory: directory,
      logLimits,
    }),
  );

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'valise-log-'));
  store = await storeWith({ maxBytes: 64 * 1024, reserveBytes: 0 });
});
afterEach(() => rm(directory, { recursive: true }));

const create = (): Promise<LogArtifact> => store.create(ID, new MaskPatterns([Buffer.from(VALUE)]));

interface Kept {
  readonly log: Buffer;
  readonly truncated: boolean;
}

async function kept(): Promise<Kept> {
  const { chunks, truncated } = await store.read(ID);
  const parts: Buffer[] = [];
  for await (const chunk of chunks()) parts.push(Buffer.from(chunk));
  return { log: Buffer.concat(parts), truncated };
}

/** What the log keeps of these pieces of output, which all come on one stream. */
async function keptOf(pieces: Iterable<Uint8Array>): Promise<Kept> {
  const artifact = await create();
  const stream = new PassThrough();
  const collected = artifact.collect('stdout', stream);
  for (const piece of pieces) if (!stream.write(piece)) await once(stream, 'drain');
  stream.end();
  await collected;
  await artifact.finish();
  return kept();
}

/** What was written to the stream has been read, whatever became of it then. */
const taken = (stream: PassThrough): Promise<true> =>
  until('the stream to be read', () => stream.readableLength === 0, { everyMs: 1 });

/** What `act` gives, while the system takes so many bytes of a write that is so long, and none when it is full. */
async function onDisk<T>(takenOf: (length: number) => number, act: () => Promise<T>): Promise<T> {
  const probe = await open(join(directory, 'probe'), 'w');
  const prototype = Object.getPrototypeOf(probe) as FileHandle;
  await probe.close();
  const whole = Reflect.get(prototype, 'write') as (...args: unknown[]) => Promise<{ bytesWritten: number }>;
  const write = jest.spyOn(prototype, 'write').mockImplementation(async function (
    this: FileHandle,
    ...[bytes, offset, length, position]: unknown[]
  ) {
    const taken = Math.min(takenOf(Number(length)), Number(length));
    if (taken === 0) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    return (await whole.call(this, bytes, offset, taken, position)) as never;
  });
  try {
    return await act();
  } finally {
    write.mockRestore();
  }
}

const linesOf = (count: number): Buffer =>
  Buffer.from(Array.from({ length: count }, (_none, line) => `line ${line}\n`).join(''));

describe('the log of an attempt', () => {
  it.each([
    ['text', Buffer.from('one\ntwo\n')],
    ['a last line without an end', Buffer.from('one\ntwo')],
    ['nothing', Buffer.alloc(0)],
    ['NULs', Buffer.alloc(10_000)],
    ['bytes that are no UTF-8', Buffer.from([0xff, 0x0a, 0xc3, 0x0d, 0x0a, 0x80])],
    ['a very long line', Buffer.alloc(30_000, 'x')],
    ['many lines', linesOf(900)],
  ])('keeps %s as it was', async (_name, output) => {
    const { log, truncated } = await keptOf([Buffer.from(output)]);
    expect({ text: textOfLog(log).toString('latin1'), truncated }).toEqual({
      text: output.toString('latin1'),
      truncated: false,
    });
    expect(readdirSync(join(directory, 'artifacts'))).toContain(`${ID}.log`);
  });

  it('hides a value that one stream interrupts in the other', async () => {
    const artifact = await create();
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const collected = Promise.all([artifact.collect('stdout', stdout), artifact.collect('stderr', stderr)]);
    stdout.write(VALUE.slice(0, 8));
    stderr.end('err');
    await once(stderr, 'close');
    stdout.end(VALUE.slice(8));
    await collected;
    await artifact.finish();
    const { log } = await kept();
    expect(textOfLog(log, ['stdout']).toString()).toBe('***');
    expect(textOfLog(log, ['stderr']).toString()).toBe('err');
  });

  it('has the streams in the order in which they came, also where one holds something back', async () => {
    const artifact = await create();
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const collected = Promise.all([artifact.collect('stdout', stdout), artifact.collect('stderr', stderr)]);
    for (let turn = 0; turn < 20; turn += 1) {
      const stream = turn % 2 === 0 ? stdout : stderr;
      stream.write(`${turn} corr\n`);
      await taken(stream);
    }
    stdout.end();
    stderr.end();
    await collected;
    await artifact.finish();
    const lines = textOfLog((await kept()).log)
      .toString()
      .trim()
      .split('\n');
    expect(lines).toEqual(Array.from({ length: 20 }, (_none, turn) => `${turn} corr`));
  });

  it('shows nothing of one stream before what came earlier on the other', async () => {
    const artifact = await create();
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const collected = Promise.all([artifact.collect('stdout', stdout), artifact.collect('stderr', stderr)]);
    for (const [stream, text] of [
      [stdout, 'first corr'],
      [stderr, 'second\n'],
      [stderr, 'third\n'],
    ] as const) {
      stream.write(text);
      await taken(stream);
    }
    stderr.end();
    stdout.end();
    await collected;
    await artifact.finish();
    expect(textOfLog((await kept()).log).toString()).toBe('first corrsecond\nthird\n');
  });

  it('shows what is held back once the stream pauses', async () => {
    const artifact = await create();
    const stream = new PassThrough();
    const collected = artifact.collect('stdout', stream);
    stream.write('corr');
    const head = join(directory, 'artifacts', `${ID}.log.part-0`);
    await until('a record', () => statSync(head).size > 0);
    expect(textOfLog(readFileSync(head)).toString()).toBe('corr');
    stream.end();
    await collected;
    await artifact.finish();
  });

  it('keeps the beginning and the end of what is too much, and says how much is missing between them', async () => {
    const LINES = 20_000;
    const all = linesOf(LINES).toString().split('\n').slice(0, -1);
    const { log, truncated } = await keptOf(all.map((line) => Buffer.from(`${line}\n`)));
    expect(truncated).toBe(true);
    expect(log.length).toBeLessThanOrEqual(64 * 1024);
    const lines = textOfLog(log).toString().split('\n').slice(0, -1);
    const gap = lines.findIndex((line, at) => line !== all[at]);
    expect(lines.slice(0, gap)).toEqual(all.slice(0, gap));
    expect(lines.slice(gap)).toEqual(all.slice(LINES - lines.length + gap));
    expect(gap).toBeGreaterThan(500);
    expect(lines.length - gap).toBeGreaterThan(250);
    const marks = [...readLogRecords(log)].filter(({ stream }) => stream === 'valise');
    expect(marks.map(({ content }) => Buffer.from(content).toString())).toEqual([
      expect.stringMatching(/^\d+ bytes of the output could not be kept\.$/),
    ]);
  });

  it('is whole as long as it fits', async () => {
    const output = linesOf(1340);
    const { log, truncated } = await keptOf([Buffer.from(output)]);
    expect(log.length).toBeGreaterThan(56 * 1024);
    expect({ text: textOfLog(log).toString(), truncated }).toEqual({
      text: output.toString(),
      truncated: false,
    });
  });

  it('is cut when a stream is broken off', async () => {
    const artifact = await create();
    const stream = new PassThrough();
    const collected = artifact.collect('stdout', stream);
    stream.write('kept');
    await once(stream, 'readable');
    stream.destroy();
    await collected;
    await artifact.finish();
    expect((await kept()).truncated).toBe(true);
  });

  it('is cut, and has what was written, when nobody finished it', async () => {
    const artifact = await create();
    const stream = new PassThrough();
    const collected = artifact.collect('stdout', stream);
    stream.end(linesOf(3000));
    await collected;
    const { log, truncated } = await kept();
    expect(truncated).toBe(true);
    expect(textOfLog(log).toString().endsWith('line 2999\n')).toBe(true);
    expect(textOfLog((await kept()).log).equals(textOfLog(log))).toBe(true);
    await artifact.finish();
  });

  it('has whole records alone, and its mark, wherever a crash has cut its parts', async () => {
    const artifact = await create();
    const stream = new PassThrough();
    const collected = artifact.collect('stdout', stream);
    stream.end(linesOf(1000));
    await collected;
    const [, ...parts] = [ID, `${ID}.log.part-0`, `${ID}.log.part-1`].map((name) =>
      join(directory, 'artifacts', name),
    );
    for (const part of parts) {
      const whole = readFileSync(part);
      for (let length = 0; length < 120; length += 1) {
        writeFileSync(part, whole.subarray(0, length));
        const { log, truncated } = await kept();
        expect(truncated).toBe(true);
        expect(textOfLog(log, ['valise']).toString()).toMatch(/^An unknown part of the output/);
      }
      writeFileSync(part, whole);
    }
    await artifact.finish();
  });

  it.each([
    ['for a while', 2],
    ['at all', 1],
  ])('loses output, and no more, when a part cannot be begun %s', async (howLong, part) => {
    const artifacts = join(directory, 'artifacts');
    const artifact = await create();
    const stream = new PassThrough();
    const collected = artifact.collect('stdout', stream);
    // A directory stands where the part shall be.
    const obstacle = join(artifacts, `${ID}.log.part-${part}`);
    mkdirSync(obstacle);
    for (let turn = 0; turn < 60; turn += 1) {
      if (turn === 40 && howLong === 'for a while') rmdirSync(obstacle);
      stream.write(linesOf(50));
      await taken(stream);
    }
    stream.end();
    await collected;
    await artifact.finish();
    for (const part of [1, 2])
      rmSync(join(artifacts, `${ID}.log.part-${part}`), { recursive: true, force: true });
    const { log, truncated } = await kept();
    expect(truncated).toBe(true);
    expect(textOfLog(log).toString().startsWith('line 0\n')).toBe(true);
    expect(textOfLog(log, ['valise']).toString()).toMatch(/^\d+ bytes of the output/);
  });

  it('shows no beginning of a value when the other stream is far ahead', async () => {
    const artifact = await create();
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const collected = Promise.all([artifact.collect('stdout', stdout), artifact.collect('stderr', stderr)]);
    stderr.write('c');
    await taken(stderr);
    stdout.write(Buffer.concat([Buffer.alloc(1024 * 1024 + 64, '.\n'), Buffer.from(VALUE.slice(0, 4))]));
    await taken(stdout);
    stdout.end(VALUE.slice(4));
    stderr.end();
    await collected;
    await artifact.finish();
    expect(textOfLog((await kept()).log).toString()).toMatch(/\n\*\*\*$/);
  });

  it('has a record of each line, also when lines come one by one', async () => {
    const { log } = await keptOf([Buffer.from('hello world\n'), Buffer.from('second line\n')]);
    expect(
      Array.from(readLogRecords(log), ({ endsLine, content }) => [endsLine, Buffer.from(content).toString()]),
    ).toEqual([
      [true, 'hello world'],
      [true, 'second line'],
    ]);
  });

  it('is cut when it is not there', async () => {
    expect(await store.read(ID)).toMatchObject({ byteLength: 0, truncated: true });
  });

  it('is not begun where it would take what must stay free, and leaves nothing', async () => {
    store = await storeWith({ maxBytes: 64 * 1024, reserveBytes: 2 ** 60 });
    await expect(create()).rejects.toThrow();
    expect(readdirSync(join(directory, 'artifacts'))).toEqual([]);
  });

  it('is whole where the system takes less than it is given', async () => {
    const { log, truncated } = await onDisk(
      () => 3,
      () => keptOf([Buffer.from('more than three bytes')]),
    );
    expect({ text: textOfLog(log).toString(), truncated }).toEqual({
      text: 'more than three bytes',
      truncated: false,
    });
  });

  it('has no half record where the disk breaks off, and says what is missing', async () => {
    let room = 100;
    const result = await onDisk(
      (length) => {
        const taken = Math.min(room, length);
        room -= taken;
        return taken;
      },
      () => keptOf([Buffer.from('first\n'), linesOf(10), Buffer.from('last\n')]),
    );
    expect(result.truncated).toBe(true);
    expect(() => textOfLog(result.log)).not.toThrow();
    expect(textOfLog(result.log, ['valise']).toString()).toMatch(/bytes of the output could not be kept/);
  });

  it('has what comes after the disk was full, and nothing of what it did not take as a whole', async () => {
    const artifact = await create();
    const stream = new PassThrough();
    const collected = artifact.collect('stdout', stream);
    const long = Buffer.from(`${'a'.repeat(100)}\n${'b'.repeat(100)}\n`);
    // It is full in the middle of the second line, and then no more.
    const takes = [200, 0];
    await onDisk(
      (length) => takes.shift() ?? length,
      async () => {
        for (const text of [Buffer.concat([long, Buffer.from('x\n')]), 'y\n']) {
          stream.write(text);
          await taken(stream);
        }
        stream.end();
        await collected;
      },
    );
    await artifact.finish();
    const { log, truncated } = await kept();
    expect({ text: textOfLog(log, ['stdout']).toString(), truncated }).toEqual({
      text: 'x\ny\n',
      truncated: true,
    });
    const lost = writeLogRecords('stdout', Date.now(), long).length;
    expect(textOfLog(log, ['valise']).toString()).toBe(`${lost} bytes of the output could not be kept.\n`);
  });

  it('is removed with all its parts, and no other is', async () => {
    const other = `wlog-${'1'.repeat(30)}`;
    await keptOf([linesOf(20_000)]);
    await (await store.create(other, new MaskPatterns([]))).finish();
    await store.removeOthers([ID]);
    expect(readdirSync(join(directory, 'artifacts')).every((name) => name.startsWith(ID))).toBe(true);
    expect((await kept()).log.length).toBeGreaterThan(0);
    await store.remove(ID);
    expect(readdirSync(join(directory, 'artifacts'))).toEqual([]);
  });
});
