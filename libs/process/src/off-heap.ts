import { MessageChannel } from 'node:worker_threads';

/** A closed port: what is transferred to it is taken from its owner, and freed, for there is nobody to have it. */
const nobody = new MessageChannel().port1;
nobody.close();

/** `byteLength` bytes outside V8's heap, where zeroing leaves no copy (a small typed array would live inside it). */
export function offHeap(byteLength: number): Buffer<ArrayBuffer> {
  return Buffer.from(new ArrayBuffer(byteLength));
}

/**
 * Zeroes `bytes`, which views all of memory of its own, and frees that now; every view of it is empty afterwards. Left to
 * the collector, wiped memory waits by the dozens of megabytes. Doing it again does nothing.
 */
export function forget(bytes: Buffer<ArrayBuffer>): void {
  if (bytes.buffer.byteLength === 0) return;
  bytes.fill(0);
  nobody.postMessage(null, [bytes.buffer]);
}
