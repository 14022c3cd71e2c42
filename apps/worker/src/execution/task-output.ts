import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { offHeap } from '@valise/process';

const CHUNK_BYTES = 64 * 1024;
/** How many chunks wait for the reader before the task does. */
const WAITING_CHUNKS = 4;

/**
 * What a task writes to one of its streams, chunk by chunk as it came. Nothing of it is anywhere else in memory: whoever
 * wipes the chunks he is given has wiped it all, and what nobody was given is wiped when this is destroyed. (Node's own
 * streams read into buffers that they free unwiped, and join chunks that wait.)
 */
export class TaskOutput extends Readable {
  readonly #socket: Socket;

  /** Reads what comes from the socket at `path`. */
  constructor(path: string) {
    super({ objectMode: true, highWaterMark: WAITING_CHUNKS });
    const buffer = offHeap(CHUNK_BYTES);
    const callback = (byteLength: number): boolean => this.#take(buffer.subarray(0, byteLength));
    this.#socket = connect({ path, onread: { buffer, callback } });
    this.#socket.once('connect', () => this.emit('connect'));
    this.#socket.once('end', () => this.push(null));
    this.#socket.once('error', (error) => this.destroy(error));
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#socket.destroy();
    for (let chunk = this.#waiting(); chunk; chunk = this.#waiting()) chunk.fill(0);
    callback(error);
  }

  /** Whether there is room for more. */
  #take(read: Buffer): boolean {
    const chunk = offHeap(read.length);
    read.copy(chunk);
    read.fill(0);
    return this.push(chunk);
  }

  #waiting(): Buffer | null {
    return this.read() as Buffer | null;
  }
}
