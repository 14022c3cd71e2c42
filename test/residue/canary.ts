import { randomBytes } from 'node:crypto';
import { patternsOf, type Needle, type Pattern } from '../../apps/cli/src/demo/needles.js';

/** Text that is the same wherever it stands, or text that is another in JSON, in UTF-8 and in UTF-16, and has two lines. */
export type Shape = 'plain' | 'awkward';

const hex = (characters: number): string => randomBytes(characters / 2).toString('hex');

const MARKS: Readonly<Record<Shape, () => string>> = {
  plain: () => hex(12),
  // With a wide character, so that no string that holds it is kept in Latin-1.
  awkward: () => `${hex(8)}"\\ \né中${hex(8)}`,
};

/** A secret that is one mark over and over, so that any piece of it, wherever it was cut, holds a whole mark. */
export class Canary {
  readonly #mark: string;
  readonly needle: Needle;

  constructor(label: string, shape: Shape = 'plain') {
    this.#mark = MARKS[shape]();
    this.needle = { label, kind: 'value', bytes: Buffer.from(this.#mark) };
  }

  /** So many bytes of it, as a file or a value: well-formed UTF-8, whatever the length. */
  bytes(length: number): Buffer {
    const { bytes: mark } = this.needle;
    const rest = length % mark.length;
    return Buffer.concat([Buffer.alloc(length - rest, mark), Buffer.alloc(rest, this.#mark.slice(0, 8))]);
  }

  get text(): string {
    return this.#mark;
  }

  /** The mark as it would lie in memory: as it is and as JSON escapes it, each also in UTF-16 of both byte orders. */
  patterns(): Pattern[] {
    const { needle } = this;
    const escaped = { ...needle, bytes: Buffer.from(JSON.stringify(this.#mark).slice(1, -1)) };
    return patternsOf([needle, escaped])
      .filter(({ form }) => form === 'raw' || form === 'json' || form === 'utf16')
      .map((pattern) => ({ ...pattern, needle }));
  }
}
