import type { Readable } from 'node:stream';
import type { LogStream } from '@valise/contracts/documents';
import type { LogFile } from './log-file.js';
import type { MaskPatterns } from './mask-patterns.js';
import { OutputOrder } from './output-order.js';

/** A stream that says nothing for so long pauses: nothing of it is held back any more. */
const PAUSE_MS = 200;

/** The masked output of one attempt, on its way to a file of its own. */
export class LogArtifact {
  readonly #order = new OutputOrder();

  constructor(
    private readonly file: LogFile,
    private readonly patterns: MaskPatterns,
  ) {}

  /** Takes the stream to its end, or to where it is broken off. A slow disk slows the task down. */
  async collect(name: LogStream, stream: Readable): Promise<void> {
    let pause: NodeJS.Timeout | undefined;
    let seen = 0;
    try {
      for await (const chunk of stream) {
        clearTimeout(pause);
        const output = chunk as Buffer;
        try {
          this.#order.push(name, output, await this.patterns.prepare());
        } finally {
          output.fill(0);
        }
        await this.#write();
        const chunks = (seen += 1);
        // Output that came while the worker was busy is read first.
        const unlessMore = (): void => {
          if (seen === chunks) void this.#pause(name);
        };
        if (this.#order.isHolding(name)) pause = setTimeout(() => setImmediate(unlessMore), PAUSE_MS);
      }
    } catch {
      this.file.breakOff();
    }
    clearTimeout(pause);
    seen += 1;
    this.#order.end(name);
    await this.#write();
  }

  /** No stream brings more; the file stays as it is. */
  finish(): Promise<void> {
    return this.file.finish();
  }

  #pause(name: LogStream): Promise<void> {
    this.#order.pause(name);
    return this.#write();
  }

  async #write(): Promise<void> {
    const records = this.#order.take();
    if (records.length > 0) await this.file.append(records);
  }
}
