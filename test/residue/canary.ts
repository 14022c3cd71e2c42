import { randomBytes } from 'node:crypto';
import { patternsOf, type Needle, type Pattern } from '../../apps/cli/src/demo/needles.js';

const MARK_BYTES = 8;

/** A secret that is one mark over and over, so that any piece of it, wherever it was cut, holds a whole mark. */
export class Canary {
  readonly #mark = randomBytes(MARK_BYTES)
    .toString('hex')
    .slice(0, 2 * MARK_BYTES - 8);
  readonly needle: Needle;

  constructor(label: string) {
    this.needle = { label, kind: 'value', bytes: Buffer.from(this.#mark) };
  }

  /** So many bytes of it, as a file or a value. */
  bytes(length: number): Buffer {
    return Buffer.alloc(length, this.#mark);
  }

  get text(): string {
    return this.#mark;
  }

  /** The mark as bytes would lie in memory: as it is, and in UTF-16 of both byte orders. */
  patterns(): Pattern[] {
    return patternsOf([this.needle]).filter(({ form }) => form === 'raw' || form === 'utf16');
  }
}
