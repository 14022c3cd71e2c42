import { createReadStream } from 'node:fs';
import { access, appendFile, open, rename, rm, statfs, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeLogRecords } from '@valise/contracts/documents';

const LF = 0x0a;
/** More than the record takes that says what is missing. In bytes. */
const MARK_BYTES = 256;
/** The file system is asked for its free space after so many bytes. */
const LOOK_BYTES = 1024 * 1024;

export interface LogLimits {
  /** What a log may take in all. */
  readonly maxBytes: number;
  /** What stays free on the disk for everybody else. */
  readonly reserveBytes: number;
}

/** A log that is not whole stands under another name, so that the name alone says so after a crash. */
const cutOf = (path: string): string => `${path}.cut`;
/** What a log consists of until it is finished; of the middle, parts are dropped. */
const headOf = (path: string): string => `${path}.head`;
const middleOf = (path: string): string => `${path}.middle`;
const tailOf = (path: string): string => `${path}.tail`;
const joinedOf = (path: string): string => `${path}.joined`;
const PARTS = [headOf, middleOf, tailOf];

/**
 * Whole records on the disk, at most `maxBytes` of them: the first half of that is kept, and of what follows the last
 * quarter at least. What cannot be written is missing, and the log says so.
 */
export class LogFile {
  readonly #headBytes: number;
  readonly #tailBytes: number;
  #part: FileHandle;
  #length = 0;
  #middleLength = 0;
  #isInTail = false;
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
    this.#part = head;
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

  /** The log stays as it is, also after a power cut; what cannot be made sure of is cut, whoever reads it. */
  async finish(): Promise<void> {
    await this.#writing;
    try {
      await synced(this.#part);
      await finishLog(this.path, this.#missing);
    } catch {
      // `readLog` finishes it.
    }
  }

  async #append(records: Buffer): Promise<void> {
    for (let rest = records; rest.length > 0;) {
      const room = (this.#isInTail ? this.#tailBytes : this.#headBytes) - this.#length;
      const fitting = rest.length <= room ? rest.length : lastEnd(rest, room);
      if (fitting > 0) {
        await this.#write(rest.subarray(0, fitting));
        rest = rest.subarray(fitting);
      } else if (this.#length > 0) {
        await this.#startPart();
      } else {
        // No part has room for this record.
        const end = rest.indexOf(LF) + 1;
        this.#lose(end);
        rest = rest.subarray(end);
      }
    }
  }

  async #startPart(): Promise<void> {
    try {
      if (this.#isInTail) {
        await rename(tailOf(this.path), middleOf(this.path));
        this.#lose(this.#middleLength);
        this.#middleLength = this.#length;
      }
      const part = await open(tailOf(this.path), 'wx', 0o600);
      await this.#part.close();
      this.#part = part;
      this.#isInTail = true;
      this.#length = 0;
    } catch {
      this.#hasSpace = false;
    }
  }

  /** A full disk must not stop the task. The system may take less than it is given. */
  async #write(records: Buffer): Promise<void> {
    const start = this.#length;
    try {
      if (!(await this.#mayWrite(records.length))) throw new Error('the disk is full');
      for (let written = 0; written < records.length;) {
        const rest = records.length - written;
        const { bytesWritten } = await this.#part.write(records, written, rest, this.#length);
        written += bytesWritten;
        this.#length += bytesWritten;
      }
    } catch {
      this.#lose(records.length);
      this.#length = start;
      // Half a record is none.
      await this.#part.truncate(start).catch(() => undefined);
    }
  }

  #lose(bytes: number): void {
    if (this.#missing !== null) this.#missing += bytes;
  }

  async #mayWrite(bytes: number): Promise<boolean> {
    this.#sinceLook += bytes;
    if (this.#hasSpace && this.#sinceLook >= LOOK_BYTES) {
      this.#sinceLook = 0;
      this.#hasSpace = await hasSpace(this.path, this.limits);
    }
    return this.#hasSpace;
  }
}

/**
 * Makes one file of the parts, with a record after the first of how many bytes are missing; `missing` is null where nobody
 * knows. Gives back whether the log is whole, or null when there is none. Once finished it stays as it is.
 */
export async function finishLog(path: string, missing: number | null): Promise<boolean | null> {
  if (await exists(path)) return true;
  if (await exists(cutOf(path))) return false;
  const [head = path, ...others] = PARTS.map((partOf) => partOf(path));
  if (!(await exists(head))) return null;
  const rest = await existing(others);
  const finished = missing === 0 ? path : cutOf(path);
  if (missing === 0 && rest.length === 0) {
    await rename(head, finished);
    return true;
  }
  await writeFile(joinedOf(path), createReadStream(head), { mode: 0o600 });
  if (missing !== 0) await appendFile(joinedOf(path), markOf(missing));
  for (const part of rest) await writeFile(joinedOf(path), createReadStream(part), { flag: 'a' });
  await synced(await open(joinedOf(path), 'r+'));
  await rename(joinedOf(path), finished);
  for (const part of [head, ...rest]) await rm(part);
  return missing === 0;
}

/** The file of a finished log. */
export const fileOf = (path: string, isWhole: boolean): string => (isWhole ? path : cutOf(path));

/** Nothing of the log is left. */
export async function removeLog(path: string): Promise<void> {
  const files = [path, cutOf(path), joinedOf(path), ...PARTS.map((partOf) => partOf(path))];
  for (const file of files) await rm(file, { force: true });
}

/** Where the last record ends that ends within the first `length` bytes; 0 when none does. */
const lastEnd = (records: Buffer, length: number): number =>
  length <= 0 ? 0 : records.lastIndexOf(LF, length - 1) + 1;

function markOf(missing: number | null): Buffer {
  const howMuch = missing === null ? 'An unknown part' : `${missing} bytes`;
  return writeLogRecords('valise', Date.now(), Buffer.from(`${howMuch} of the output could not be kept.\n`));
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) if (await exists(path)) found.push(path);
  return found;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

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
