import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkerConfig } from '../config/worker-config.js';
import { EMPTY_LOG, type StoredLog } from '../ingress/control.js';
import { makePrivateDirectory } from '../inbox/durable-directory.js';
import { LogArtifact } from './log-artifact.js';
import { LogFile, type LogLimits } from './log-file.js';
import { openLog } from './log-on-disk.js';
import { removeLog } from './log-parts.js';
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

  /** A log as it lies on the disk. One whose end nobody wrote, that is not there or cannot be read is truncated. */
  async read(logArtifactId: string): Promise<CompleteLog> {
    try {
      const log = await openLog(this.#pathOf(logArtifactId));
      if (!log) return { ...EMPTY_LOG, truncated: true };
      const hash = createHash('sha256');
      let byteLength = 0;
      for await (const chunk of log.read()) {
        hash.update(chunk);
        byteLength += chunk.length;
      }
      return { byteLength, sha256: hash.digest('hex'), truncated: !log.isWhole, chunks: () => log.read() };
    } catch {
      // How the attempt ended is told also without its log.
      return { ...EMPTY_LOG, truncated: true };
    }
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
