import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { MAX_ARTIFACT_BYTES } from '@valise/contracts/wire';
import { EMPTY_LOG, type StoredLog } from '../ingress/control.js';
import { Masker } from './masker.js';
import type { MaskPatterns } from './mask-patterns.js';

/** A log that is complete on the disk. */
export interface CompleteLog extends StoredLog {
  readonly truncated: boolean;
}

/**
 * The masked output of one attempt, in a file of its own: what comes first is kept, up to the artefact's limit. Each
 * stream is masked by itself, and then what the file gets once more: a value that is split over both is whole only there.
 */
export class LogArtifact {
  readonly #merged: Masker;
  #byteLength = 0;
  #truncated = false;

  private constructor(
    private readonly file: FileHandle,
    private readonly patterns: MaskPatterns,
  ) {
    this.#merged = new Masker(patterns);
  }

  /** @throws when the file exists or cannot be made */
  static async create(path: string, patterns: MaskPatterns): Promise<LogArtifact> {
    return new LogArtifact(await open(path, 'wx', 0o600), patterns);
  }

  /** Takes the stream to its end, or to where it is broken off. A slow disk slows the task down. */
  async collect(stream: Readable): Promise<void> {
    const masker = new Masker(this.patterns);
    try {
      for await (const chunk of stream) {
        const output = chunk as Buffer;
        await this.#append(this.#merged.push(masker.push(output)));
        output.fill(0);
      }
    } catch {
      this.#truncated = true;
    }
    await this.#append(this.#merged.push(masker.end()));
  }

  /** Whether something of the output is not in the file. */
  get isTruncated(): boolean {
    return this.#truncated;
  }

  /** No stream brings more; the file stays as it is, also after a power cut, unless the log is truncated. */
  async close(): Promise<void> {
    await this.#append(this.#merged.end());
    try {
      await this.file.sync();
    } catch {
      this.#truncated = true;
    } finally {
      await this.file.close();
    }
  }

  /** Both streams append; each takes its place before it waits. */
  async #append(bytes: Buffer): Promise<void> {
    const fitting = bytes.subarray(0, MAX_ARTIFACT_BYTES - this.#byteLength);
    if (fitting.length < bytes.length) this.#truncated = true;
    if (fitting.length === 0) return;
    const position = this.#byteLength;
    this.#byteLength += fitting.length;
    try {
      await this.#write(fitting, position);
    } catch {
      // A full disk must not stop the task; the log says that it is not whole.
      this.#truncated = true;
    }
  }

  /** The system may take less than it is given. */
  async #write(bytes: Buffer, position: number): Promise<void> {
    for (let written = 0; written < bytes.length;) {
      const { bytesWritten } = await this.file.write(
        bytes,
        written,
        bytes.length - written,
        position + written,
      );
      written += bytesWritten;
    }
  }
}

/** Reads a log as it lies on the disk; one that is not there is empty. `interrupted`: its end was not written. */
export async function readLog(path: string, interrupted: boolean): Promise<CompleteLog> {
  const hash = createHash('sha256');
  let byteLength = 0;
  try {
    for await (const chunk of createReadStream(path)) {
      hash.update(chunk as Buffer);
      byteLength += (chunk as Buffer).length;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return { ...EMPTY_LOG, truncated: interrupted };
  }
  const truncated = interrupted || byteLength >= MAX_ARTIFACT_BYTES;
  return { byteLength, sha256: hash.digest('hex'), truncated, chunks: () => createReadStream(path) };
}

export const logPath = (directory: string, logArtifactId: string): string =>
  join(directory, `${logArtifactId}.log`);

/** Removes every log but those of `kept`. */
export async function removeOtherLogs(directory: string, kept: readonly string[]): Promise<void> {
  const names = new Set(kept.map((logArtifactId) => `${logArtifactId}.log`));
  for (const name of await readdir(directory)) {
    if (!names.has(name)) await rm(join(directory, name));
  }
}
