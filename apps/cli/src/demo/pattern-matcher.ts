import type { Pattern } from './needles.js';

const PREFIX_BYTES = 4;
const FILTER_BITS = 20;
const { imul } = Math;

/**
 * Finds any of many patterns in one pass. A bit table over the hashed first four bytes lets nearly every position pass
 * at the cost of one look; what it holds back is compared byte by byte.
 */
export class PatternMatcher {
  readonly longest: number;
  readonly #filter = new Uint32Array(2 ** (FILTER_BITS - 5));
  readonly #byPrefix = new Map<number, Pattern[]>();

  /** Every pattern has at least four bytes. */
  constructor(patterns: readonly Pattern[]) {
    this.longest = patterns.reduce((longest, { bytes }) => Math.max(longest, bytes.length), PREFIX_BYTES);
    for (const pattern of patterns) {
      const prefix = pattern.bytes.readInt32BE(0);
      const slot = slotOf(prefix);
      this.#filter[slot >>> 5] = (this.#filter[slot >>> 5] ?? 0) | (1 << (slot & 31));
      const same = this.#byPrefix.get(prefix);
      if (same) same.push(pattern);
      else this.#byPrefix.set(prefix, [pattern]);
    }
  }

  /** Calls `seen` for every occurrence that starts in [from, to) of `bytes`; it may end after `to`. */
  match(bytes: Buffer, from: number, to: number, seen: (pattern: Pattern, at: number) => void): void {
    const filter = this.#filter;
    const end = Math.min(bytes.length, to + PREFIX_BYTES - 1);
    let prefix = 0;
    for (let at = from; at < end; at += 1) {
      prefix = (prefix << 8) | (bytes[at] ?? 0);
      const slot = slotOf(prefix);
      if (((filter[slot >>> 5] ?? 0) & (1 << (slot & 31))) === 0 || at - from < PREFIX_BYTES - 1) continue;
      const start = at - PREFIX_BYTES + 1;
      for (const pattern of this.#byPrefix.get(prefix) ?? []) {
        if (bytes.subarray(start, start + pattern.bytes.length).equals(pattern.bytes)) seen(pattern, start);
      }
    }
  }
}

function slotOf(prefix: number): number {
  return imul(prefix, 0x9e3779b1) >>> (32 - FILTER_BITS);
}
