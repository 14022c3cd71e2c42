import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Projection } from './projection.js';
import type { ReadResult } from './projection-thread.js';
import { CustodyError } from './secret-custody.js';

const THREAD = join(__dirname, 'projection-thread.js');
const HEAP_MIB = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 };

/** Settles the read that a thread is busy with. */
interface Reading {
  resolve(contents: Buffer<ArrayBuffer>[]): void;
  reject(error: Error): void;
}

/**
 * Reads projections in threads of their own, one call of ours for all the calls to the file system that it takes: through
 * libuv each of those would wake a thread and be woken by it. A file system that hangs holds such a thread, never one of
 * libuv's. As many threads are started as there are reads at once.
 */
export class ProjectionThreads {
  private readonly idle: Worker[] = [];
  private readonly busy = new Map<Worker, Reading>();

  constructor(private readonly directory: string) {}

  /** @throws CustodyError */
  read(projections: readonly Projection[]): Promise<Buffer<ArrayBuffer>[]> {
    const thread = this.idle.pop() ?? this.start();
    return new Promise((resolve, reject) => {
      this.busy.set(thread, { resolve, reject });
      thread.postMessage(projections);
    });
  }

  private start(): Worker {
    const thread = new Worker(THREAD, { workerData: this.directory, resourceLimits: HEAP_MIB });
    thread.on('message', (result: ReadResult) => {
      const reading = this.busy.get(thread);
      this.busy.delete(thread);
      this.idle.push(thread);
      if ('fault' in result) reading?.reject(new CustodyError(result.fault, result.projection));
      else
        reading?.resolve(
          result.contents.map(({ buffer, byteOffset, byteLength }) =>
            Buffer.from(buffer, byteOffset, byteLength),
          ),
        );
    });
    // Where a thread cannot go on, its read has failed and another thread takes its place.
    thread
      .on('error', () => undefined)
      .on('exit', () => {
        this.busy.get(thread)?.reject(new CustodyError('unreadable', null));
        this.busy.delete(thread);
        if (this.idle.includes(thread)) this.idle.splice(this.idle.indexOf(thread), 1);
      });
    // A thread does not keep the process alive; what waits for it does.
    thread.unref();
    return thread;
  }
}
