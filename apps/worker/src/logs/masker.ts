import { offHeap } from '@valise/process';
import type { Searches } from './mask-patterns.js';
import { MaskSpans } from './mask-spans.js';
import { StreamSearch, UnbrokenSearch } from './mask-search.js';

/** What stands for any span of secret bytes: no prefix, no length. */
export const MASK = Buffer.from('***');
const LF = 0x0a;
const MAX_HELD_LINE_BYTES = 16 * 1024;

/** A piece of a stream that came at once, as it may be shown. */
export interface Piece<Arrival> {
  readonly arrival: Arrival;
  readonly bytes: Buffer;
}

/**
 * Masks one output stream, whatever its chunks: every byte that is part of any occurrence of any form of a value is
 * covered, and each covered span becomes one mask, where it begins. Bytes that may still become part of one are held back
 * until that is decided, and with them the beginning of their line; or until `pause`.
 */
export class Masker<Arrival> {
  readonly #searches: readonly StreamSearch[];
  readonly #spans = new MaskSpans();
  /** Offset of the first byte that was not given out, and the bytes from there on. */
  #base = 0;
  #held = offHeap(0);
  #insideSpan = false;
  /** Which arrival the bytes from an offset on came with, from the first that is held. */
  readonly #arrivals: { readonly from: number; readonly arrival: Arrival }[] = [];

  constructor({ asItIs, unbroken }: Searches) {
    this.#searches = asItIs.length === 0 ? [] : [new StreamSearch(asItIs), new UnbrokenSearch(unbroken)];
  }

  /** When the first byte came that is held back. */
  get oldest(): Arrival | undefined {
    return this.#arrivals[0]?.arrival;
  }

  /** What may be shown after `chunk`, in memory of its own. The chunk stays the caller's to zero. */
  push(chunk: Uint8Array, arrival: Arrival): Piece<Arrival>[] {
    if (chunk.length === 0) return [];
    const text = offHeap(this.#held.length + chunk.length);
    this.#held.copy(text);
    text.set(chunk, this.#held.length);
    const end = this.#base + text.length;
    this.#arrivals.push({ from: end - chunk.length, arrival });
    let decided = end;
    for (const search of this.#searches) {
      search.read(chunk, this.#spans);
      decided = Math.min(decided, search.undecidedFrom);
    }
    return this.#give(text, this.#lineEnd(text, Math.max(decided, this.#base)));
  }

  /**
   * What is held back, for the stream pauses. What may be the beginning of a value, and is as long as a value must be to
   * be masked, is masked: the rest may come later.
   */
  pause(): Piece<Arrival>[] {
    for (const { partialFrom } of this.#searches) {
      if (partialFrom !== null) this.#spans.add(partialFrom, this.#base + this.#held.length);
    }
    return this.end();
  }

  /** What is held back, for the stream has ended. */
  end(): Piece<Arrival>[] {
    const text = offHeap(this.#held.length);
    this.#held.copy(text);
    return this.#give(text, this.#base + text.length);
  }

  /** How far to go when not all is decided: to the end of a line, unless the line is very long. */
  #lineEnd(text: Buffer, decided: number): number {
    const length = decided - this.#base;
    if (length === text.length || text.length > MAX_HELD_LINE_BYTES) return decided;
    return length === 0 ? decided : this.#base + text.lastIndexOf(LF, length - 1) + 1;
  }

  /** Gives out `text`, which stands at the base, up to the offset `limit`; holds the rest back, and wipes the text. */
  #give(text: Buffer, limit: number): Piece<Arrival>[] {
    const base = this.#base;
    const pieces: Piece<Arrival>[] = [];
    for (let [first] = this.#arrivals; first && this.#base < limit; [first] = this.#arrivals) {
      const end = Math.min(this.#arrivals[1]?.from ?? limit, limit);
      const bytes = this.#show(text.subarray(this.#base - base, end - base), end);
      if (bytes.length > 0) pieces.push({ arrival: first.arrival, bytes });
      if (end === (this.#arrivals[1]?.from ?? base + text.length)) this.#arrivals.shift();
    }
    this.#held.fill(0);
    this.#held = offHeap(base + text.length - limit);
    text.copy(this.#held, 0, limit - base);
    text.fill(0);
    return pieces;
  }

  /** The bytes from the base to the offset `limit`, masked. */
  #show(bytes: Buffer, limit: number): Buffer {
    const shown: Uint8Array[] = [];
    const base = this.#base;
    let at = base;
    while (at < limit) {
      const span = this.#spans.first;
      const start = Math.min(span?.start ?? limit, limit);
      if (start > at) {
        shown.push(bytes.subarray(at - base, start - base));
        this.#insideSpan = false;
        at = start;
      }
      if (!span || span.start >= limit) break;
      if (!this.#insideSpan) shown.push(MASK);
      this.#insideSpan = true;
      at = Math.max(at, Math.min(span.end, limit));
      if (span.end > limit) break;
      this.#spans.dropFirst();
    }
    this.#base = limit;
    return Buffer.concat(shown);
  }
}
