import { parentPort, workerData } from 'node:worker_threads';
import { type Projection, readProjections } from './projection.js';
import { CustodyError, type CustodyFault } from './secret-custody.js';

/** What a thread answers: the content, whose memory is handed over and not copied, or the fault. */
export type ReadResult =
  | { readonly contents: readonly Uint8Array<ArrayBuffer>[] }
  | { readonly fault: CustodyFault; readonly projection: string | null };

/** One thing at a time, below the directory that the thread was made for. */
parentPort?.on('message', (projections: readonly Projection[]) => {
  try {
    const contents = readProjections(workerData as string, projections);
    parentPort?.postMessage(
      { contents } satisfies ReadResult,
      contents.map(({ buffer }) => buffer),
    );
  } catch (error) {
    const { fault, projection } =
      error instanceof CustodyError ? error : new CustodyError('unreadable', null);
    parentPort?.postMessage({ fault, projection } satisfies ReadResult);
  }
});
