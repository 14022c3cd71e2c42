import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Refusal } from '../refusal.js';
import { readInput } from './bundle-file.js';

describe('a file that is read', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'valise-file-spec-'));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  const refusal = (path: string, maxBytes?: number): string => {
    try {
      readInput(path, maxBytes);
    } catch (error) {
      if (error instanceof Refusal && error.exitCode === 2) return error.message;
      throw error;
    }
    throw new Error('read');
  };

  it('is a regular one: a FIFO, a device or a directory is refused at once', () => {
    const fifo = join(directory, 'fifo');
    expect(spawnSync('mkfifo', [fifo]).status).toBe(0);
    for (const path of [fifo, '/dev/zero', directory]) {
      expect(refusal(path)).toBe(`${path} is not a regular file.`);
    }
  });

  it('has at most the bytes that are asked for', () => {
    const path = join(directory, 'file');
    writeFileSync(path, 'hunter2');
    expect(Buffer.from(readInput(path, 7)).toString()).toBe('hunter2');
    expect(refusal(path, 6)).toBe(`${path} has 7 bytes, and at most 6 are read.`);
    writeFileSync(path, Buffer.alloc(1024 * 1024 + 1));
    expect(refusal(path)).toContain('1048577 bytes');
  });
});
