import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkerConfig } from '../config/worker-config.js';
import { EMPTY_LOG, type StoredLog } from '../ingress/control.js';
import { makePrivateDirectory } from '../inbox/durable-file.js';
import { LogArtifact } from './log-artifact.js';
import { fileOf, finishLog, LogFile, removeLog, type LogLimits } from './log-file.js';
import type { MaskPatterns } from './mask-patterns.js';

/** A log that is complete on the disk. */
export interface CompleteLog extends StoredLog {
  readonly truncated: boolean;
}

/** Where the logs of attempts lie until control has them; the worker's alone. */
export class LogStore {
  private constructor(
    private readonly directory: string,
    private readonly limits: LogLimits,
  ) {}

  static async open({ stateDirectory, logLimits }: WorkerConfig): Promise<LogStore> {
    const directory = join(stateDirectory, 'artifacts');
    await makePrivateDirectory(directory);
    return new LogStore(directory, logLimits);
  }

  /** @throws when the log exists, cannot be made, or the disk is full */
  async create(logArtifactId: string, patterns: MaskPatterns): Promise<LogArtifact> {
    return new LogArtifact(await LogFile.create(this.#pathOf(logArtifactId), this.limits), patterns);
  }

  /** A log as it lies on the disk. One whose end nobody wrote, or that is not there, is truncated. */
  async read(logArtifactId: string): Promise<CompleteLog> {
    const path = this.#pathOf(logArtifactId);
    const isWhole = await finishLog(path, null);
    if (isWhole === null) return { ...EMPTY_LOG, truncated: true };
    const file = fileOf(path, isWhole);
    const hash = createHash('sha256');
    let byteLength = 0;
    for await (const chunk of createReadStream(file)) {
      hash.update(chunk as Buffer);
      byteLength += (chunk as Buffer).length;
    }
    const sha256 = hash.digest('hex');
    return { byteLength, sha256, truncated: !isWhole, chunks: () => createReadStream(file) };
  }

  async remove(logArtifactId: string): Promise<void> {
    await removeLog(this.#pathOf(logArtifactId));
  }

  /** Removes every log but those of `kept`. */
  async removeOthers(kept: readonly string[]): Promise<void> {
    for (const name of await readdir(this.directory)) {
      const [logArtifactId = ''] = name.split('.', 1);
      if (!kept.includes(logArtifactId)) await this.remove(logArtifactId);
    }
  }

  #pathOf(logArtifactId: string): string {
    return join(this.directory, `${logArtifactId}.log`);
  }
}
