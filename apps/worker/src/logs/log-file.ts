import { open, rename, rm, statfs, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { headOf, MARK_BYTES, markOf, missingRecord, partOf } from './log-parts.js';

const LF = 0x0a;
/** The file system is asked for its free space after so many bytes. */
const LOOK_BYTES = 1024 * 1024;

export interface LogLimits {
  /** What a log may take in all. */
  readonly maxBytes: number;
  /** What stays free on the disk for everybody else. */
  readonly reserveBytes: number;
}

/**
 * Whole records on the disk, at most `maxBytes` of them, in parts: the first has half of that and is kept; of what follows
 * the last quarter at least. What cannot be written is missing, and the log says so.
 */
export class LogFile {
  readonly #headBytes: number;
  readonly #tailBytes: number;
  #file: FileHandle;
  #part = 0;
  #length = 0;
  #lengthBefore = 0;
  /** How many bytes the log does not have; null where nobody knows. */
  #missing: number | null = 0;
  #sinceLook = 0;
  #hasSpace = true;
  #writing = Promise.resolve();

  private constructor(
    private readonly path: string,
    private readonly limits: LogLimits,
    head: FileHandle,
  ) {
    this.#headBytes = Math.floor(limits.maxBytes / 2) - MARK_BYTES;
    this.#tailBytes = Math.floor(limits.maxBytes / 4);
    this.#file = head;
  }

  /** @throws when the log exists, cannot be made, or would take what must stay free */
  static async create(path: string, limits: LogLimits): Promise<LogFile> {
    if (!(await hasSpace(path, limits))) throw new Error('the disk is full');
    return new LogFile(path, limits, await open(headOf(path), 'wx', 0o600));
  }

  /** Some of the output will never come. */
  breakOff(): void {
    this.#missing = null;
  }

  /** Takes whole records, one call after the other; a slow disk is waited for. */
  append(records: Buffer): Promise<void> {
    this.#writing = this.#writing.then(() => this.#append(records));
    return this.#writing;
  }

  /** The log stays as it is, also after a power cut. One that cannot be made sure of counts as cut. */
  async finish(): Promise<void> {
    await this.#writing;
    try {
      await synced(this.#file);
      if (this.#missing === 0) await rename(headOf(this.path), this.path);
      else await writeFile(markOf(this.path), missingRecord(this.#missing), { mode: 0o600 });
    } catch {
      // Without its name it is not whole, and without its mark the reader makes one.
    }
  }

  async #append(records: Buffer): Promise<void> {
    for (let rest = records; rest.length > 0;) {
      const room = (this.#part === 0 ? this.#headBytes : this.#tailBytes) - this.#length;
      const fitting = rest.length <= room ? rest.length : lastEnd(rest, room);
      if (fitting > 0) {
        await this.#write(rest.subarray(0, fitting));
        rest = rest.subarray(fitting);
      } else if (this.#length === 0 || !(await this.#startPart())) {
        // No part has room for this record, or there is no other part to be had now.
        const end = rest.indexOf(LF) + 1;
        this.#lose(end);
        rest = rest.subarray(end);
      }
    }
  }

  /** Goes on in a new part, and drops the last but one unless that is the first. False when that cannot be. */
  async #startPart(): Promise<boolean> {
    try {
      const next = await open(partOf(this.path, this.#part + 1), 'w', 0o600);
      await synced(this.#file).catch(() => {
        this.#missing = null;
      });
      this.#file = next;
    } catch {
      return false;
    }
    this.#part += 1;
    if (this.#part > 2) {
      this.#lose(this.#lengthBefore);
      await rm(partOf(this.path, this.#part - 2), { force: true });
    }
    this.#lengthBefore = this.#length;
    this.#length = 0;
    return true;
  }

  /** A full disk must not stop the task. The system may take less than it is given. */
  async #write(records: Buffer): Promise<void> {
    const start = this.#length;
    try {
      if (!(await this.#mayWrite(records.length))) throw new Error('the disk is full');
      for (let written = 0; written < records.length;) {
        const rest = records.length - written;
        const { bytesWritten } = await this.#file.write(records, written, rest, this.#length);
        written += bytesWritten;
        this.#length += bytesWritten;
      }
    } catch {
      this.#lose(records.length);
      this.#length = start;
      // Half a record is none.
      await this.#file.truncate(start).catch(() => undefined);
    }
  }

  #lose(bytes: number): void {
    if (this.#missing !== null) this.#missing += bytes;
  }

  async #mayWrite(bytes: number): Promise<boolean> {
    this.#sinceLook += bytes;
    if (this.#sinceLook >= LOOK_BYTES) {
      this.#sinceLook = 0;
      this.#hasSpace = await hasSpace(this.path, this.limits);
    }
    return this.#hasSpace;
  }
}

/** Where the last record ends that ends within the first `length` bytes; 0 when none does. */
const lastEnd = (records: Buffer, length: number): number =>
  length <= 0 ? 0 : records.lastIndexOf(LF, length - 1) + 1;

async function hasSpace(path: string, { reserveBytes }: LogLimits): Promise<boolean> {
  const { bavail, bsize } = await statfs(dirname(path));
  return bavail * bsize > reserveBytes;
}

async function synced(file: FileHandle): Promise<void> {
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
