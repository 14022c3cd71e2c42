import { RuleBroken } from '@valise/contracts/settings';

/** One element of a DER document: what it holds, and all of its bytes. */
export interface DerElement {
  readonly content: Buffer;
  readonly whole: Buffer;
}

const LONG_LENGTH = 0x80;
const LONG_TAG = 0x1f;

/** Reads one DER element after the other (X.690 §10: definite lengths in their shortest form). */
export class DerReader {
  #at = 0;

  constructor(private readonly bytes: Buffer) {}

  get isAtEnd(): boolean {
    return this.#at === this.bytes.length;
  }

  /** Whether the next element has this tag; false at the end. */
  isAt(tag: number): boolean {
    return this.bytes[this.#at] === tag;
  }

  /** The next element, which must have this tag. @throws RuleBroken */
  take(tag: number): DerElement {
    const start = this.#at;
    if (!this.isAt(tag) || (tag & LONG_TAG) === LONG_TAG) throw malformed();
    const length = this.#length(start + 1);
    const end = this.#at + length;
    if (end > this.bytes.length) throw malformed();
    const content = this.bytes.subarray(this.#at, end);
    this.#at = end;
    return { content, whole: this.bytes.subarray(start, end) };
  }

  /** What the next element holds, to be read in its turn. @throws RuleBroken */
  enter(tag: number): DerReader {
    return new DerReader(this.take(tag).content);
  }

  #length(at: number): number {
    const first = this.bytes[at];
    if (first === undefined) throw malformed();
    this.#at = at + 1;
    if (first < LONG_LENGTH) return first;
    const size = first - LONG_LENGTH;
    if (size < 1 || size > 4 || this.#at + size > this.bytes.length) throw malformed();
    const length = this.bytes.readUIntBE(this.#at, size);
    if (length < LONG_LENGTH || length < 2 ** (8 * (size - 1))) throw malformed();
    this.#at += size;
    return length;
  }
}

function malformed(): RuleBroken {
  return new RuleBroken('must hold well-formed DER');
}
