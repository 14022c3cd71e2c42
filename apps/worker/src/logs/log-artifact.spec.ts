import { mkdtemp, open, readFile, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { once } from 'node:events';
import { LogArtifact } from './log-artifact.js';
import { MaskPatterns } from './mask-patterns.js';

const VALUE = 'correct horse battery';

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'valise-log-'));
  path = join(directory, 'log');
});
afterEach(() => rm(directory, { recursive: true }));

const create = (): Promise<LogArtifact> => LogArtifact.create(path, new MaskPatterns([Buffer.from(VALUE)]));

describe('the log of an attempt', () => {
  it('does not show a value that is split over both streams', async () => {
    for (let at = 1; at < VALUE.length; at += 1) {
      const artifact = await create();
      const [stdout, stderr] = [new PassThrough(), new PassThrough()];
      const first = artifact.collect(stdout);
      stdout.end(`out ${VALUE.slice(0, at)}`);
      await first;
      const second = artifact.collect(stderr);
      stderr.end(`${VALUE.slice(at)} err`);
      await second;
      await artifact.close();
      expect(await readFile(path, 'latin1')).toBe('out *** err');
      expect(artifact.isTruncated).toBe(false);
      await rm(path);
    }
  });

  it('does not show a value of one stream that the other interrupts', async () => {
    const artifact = await create();
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const collected = Promise.all([artifact.collect(stdout), artifact.collect(stderr)]);
    stdout.write(VALUE.slice(0, 8));
    stderr.end('err');
    await once(stderr, 'close');
    stdout.end(VALUE.slice(8));
    await collected;
    await artifact.close();
    expect(await readFile(path, 'latin1')).toBe('err***');
  });

  it('is truncated when a stream is broken off', async () => {
    const artifact = await create();
    const stream = new PassThrough();
    const collected = artifact.collect(stream);
    stream.write('kept');
    await once(stream, 'readable');
    stream.destroy();
    await collected;
    await artifact.close();
    expect(artifact.isTruncated).toBe(true);
  });

  it('is whole where the system takes less than it is given', async () => {
    const probe = await open(join(directory, 'probe'), 'w');
    const prototype = Object.getPrototypeOf(probe) as FileHandle;
    await probe.close();
    const whole = Reflect.get(prototype, 'write') as (
      ...args: unknown[]
    ) => Promise<{ bytesWritten: number }>;
    const short = jest.spyOn(prototype, 'write').mockImplementation(function (
      this: FileHandle,
      ...[bytes, offset, length, position]: unknown[]
    ) {
      return whole.call(this, bytes, offset, Math.min(3, Number(length)), position) as never;
    });
    try {
      const artifact = await create();
      const stream = new PassThrough();
      const collected = artifact.collect(stream);
      stream.end('more than three bytes');
      await collected;
      await artifact.close();
      expect(await readFile(path, 'latin1')).toBe('more than three bytes');
      expect(artifact.isTruncated).toBe(false);
    } finally {
      short.mockRestore();
    }
  });
});
