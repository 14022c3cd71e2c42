import { offHeap } from '../ingress/off-heap.js';
import type { MaskPatterns } from './mask-patterns.js';

/** What stands for any run of secret bytes: no prefix, no length. */
export const MASK = Buffer.from('***');

/** A run of secret bytes, as offsets in the stream. */
interface Run {
  start: number;
  end: number;
}

/**
 * Masks one output stream, whatever its chunks: every byte that is part of any occurrence of any pattern is covered, and
 * each covered run becomes one mask. Bytes that may still become part of one are held back until that is decided.
 */
export class Masker {
  #node = 0;
  /** Offset of the first byte that was not given out, and the bytes from there on. */
  #base = 0;
  #held = offHeap(0);
  #runs: Run[] = [];
  #insideRun = false;

  constructor(private readonly patterns: MaskPatterns) {}

  /** What may be shown after `chunk`, in memory of its own. The chunk stays the caller's to zero. */
  push(chunk: Uint8Array): Buffer {
    const text = offHeap(this.#held.length + chunk.length);
    this.#held.copy(text);
    text.set(chunk, this.#held.length);
    this.#scan(chunk, this.#base + this.#held.length);
    const shown = this.#show(text, text.length - this.patterns.depth(this.#node));
    text.fill(0);
    return shown;
  }

  /** What is left when the stream has ended. */
  end(): Buffer {
    const text = Buffer.from(this.#held);
    const shown = this.#show(text, text.length);
    text.fill(0);
    this.#node = 0;
    return shown;
  }

  #scan(chunk: Uint8Array, offset: number): void {
    const { patterns } = this;
    let node = this.#node;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (node === 0 && !patterns.begins(byte)) continue;
      node = patterns.step(node, byte);
      const length = patterns.longest(node);
      if (length > 0) this.#cover(offset + at + 1 - length, offset + at + 1);
    }
    this.#node = node;
  }

  /** Matches come in the order of their ends, so a new one can only swallow the last runs. */
  #cover(start: number, end: number): void {
    let from = start;
    for (let last = this.#runs.at(-1); last && last.end >= from; last = this.#runs.at(-1)) {
      from = Math.min(from, last.start);
      this.#runs.pop();
    }
    this.#runs.push({ start: from, end });
  }

  /** Gives out `text` up to `length`, masked, and holds the rest back. */
  #show(text: Buffer, length: number): Buffer {
    const parts: Buffer[] = [];
    const base = this.#base;
    let at = base;
    const limit = base + length;
    while (at < limit) {
      const [run] = this.#runs;
      const start = Math.min(run?.start ?? limit, limit);
      if (start > at) {
        parts.push(text.subarray(at - base, start - base));
        this.#insideRun = false;
        at = start;
      }
      if (!run || run.start >= limit) break;
      if (!this.#insideRun) parts.push(MASK);
      this.#insideRun = true;
      at = Math.min(run.end, limit);
      if (run.end <= limit) this.#runs.shift();
      else run.start = limit;
    }
    this.#held.fill(0);
    this.#held = offHeap(text.length - length);
    text.copy(this.#held, 0, length);
    this.#base = limit;
    return Buffer.concat(parts);
  }
}
