import { writeLogRecords, type LogStream } from '@valise/contracts/documents';
import type { Searches } from './mask-patterns.js';
import { Masker, type Piece } from './masker.js';

/** What one stream may run ahead of what the other holds back, as it takes memory. In bytes. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** What a piece takes besides its own bytes; a task may write them one by one. */
const PIECE_BYTES = 256;

interface Arrival {
  readonly order: number;
  readonly atMs: number;
}

/** A stream of the task, and what of it may be shown but waits for what came before on the other. */
interface Side {
  readonly stream: LogStream;
  readonly masker: Masker<Arrival>;
  readonly waiting: Piece<Arrival>[];
  waitingBytes: number;
}

/** Masks the streams of a task, each by itself, and gives their records out in the order in which they came. */
export class OutputOrder {
  readonly #sides: Side[] = [];
  #arrived = 0;

  /** The chunk stays the caller's to zero; `searches` are the attempt's. */
  push(stream: LogStream, chunk: Uint8Array, searches: Searches): void {
    const side = this.#sideOf(stream, searches);
    wait(side, side.masker.push(chunk, { order: this.#arrived, atMs: Date.now() }));
    this.#arrived += 1;
    if (side.waitingBytes > MAX_WAITING_BYTES) this.#sides.filter((other) => other !== side).forEach(pause);
  }

  /** Whether something of the stream is held back, for it may be the beginning of a value. */
  isHolding(stream: LogStream): boolean {
    return this.#known(stream)?.masker.oldest !== undefined;
  }

  /** The stream pauses: nothing of it is held back any more. */
  pause(stream: LogStream): void {
    const side = this.#known(stream);
    if (side) pause(side);
  }

  end(stream: LogStream): void {
    const side = this.#known(stream);
    if (side) wait(side, side.masker.end());
  }

  /** The records that nothing comes before any more. */
  take(): Buffer {
    const records: Buffer[] = [];
    for (let side = this.#next(); side; side = this.#next()) {
      const piece = side.waiting.shift();
      if (!piece) break;
      side.waitingBytes -= takenBy(piece);
      records.push(writeLogRecords(side.stream, piece.arrival.atMs, piece.bytes));
    }
    return Buffer.concat(records);
  }

  /** The side whose first piece came before everything that waits or is held back. */
  #next(): Side | undefined {
    const ordered = this.#sides
      .map((side) => ({ side, order: (side.waiting[0]?.arrival ?? side.masker.oldest)?.order ?? Infinity }))
      .sort((one, other) => one.order - other.order);
    const first = ordered[0]?.side;
    return first && first.waiting.length > 0 ? first : undefined;
  }

  /** A stream that wrote nothing has no side, and no masker is made for it. */
  #known(stream: LogStream): Side | undefined {
    return this.#sides.find((side) => side.stream === stream);
  }

  #sideOf(stream: LogStream, searches: Searches): Side {
    let side = this.#known(stream);
    if (!side) {
      side = { stream, masker: new Masker(searches), waiting: [], waitingBytes: 0 };
      this.#sides.push(side);
    }
    return side;
  }
}

function pause(side: Side): void {
  wait(side, side.masker.pause());
}

function wait(side: Side, pieces: readonly Piece<Arrival>[]): void {
  for (const piece of pieces) {
    side.waiting.push(piece);
    side.waitingBytes += takenBy(piece);
  }
}

const takenBy = ({ bytes }: Piece<Arrival>): number => bytes.length + PIECE_BYTES;
