/** A range of an arena's bytes. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * The decoded bytes of one document, in one piece outside V8's heap, so that zeroing it leaves no copy behind. (A
 * typed array of up to 64 bytes made any other way lives inside the heap and is moved by the collector.)
 */
export class Arena {
  readonly #bytes: Buffer;
  #length = 0;

  /** `capacity` bytes are never exceeded: a decoded JSON text is no longer than its source. */
  constructor(capacity: number) {
    this.#bytes = Buffer.from(new ArrayBuffer(capacity));
  }

  get length(): number {
    return this.#length;
  }

  /** Where the next decoded text goes: written by `write`, which returns the offset after its last byte. */
  append(write: (into: Uint8Array, at: number) => number): Range {
    const start = this.#length;
    this.#length = write(this.#bytes, start);
    return { start, end: this.#length };
  }

  /** Gives back everything after `length`: the next text overwrites it, and `wipe` clears the rest. */
  rewind(length: number): void {
    this.#length = length;
  }

  /** A view, not a copy. */
  view(range: Range): Uint8Array {
    return this.#bytes.subarray(range.start, range.end);
  }

  /** The range as a JavaScript string, one character per byte: for names, never for a value. */
  latin1({ start, end }: Range): string {
    return this.#bytes.toString('latin1', start, end);
  }

  /** Whether the range holds exactly the UTF-8 bytes of `text`. */
  equals({ start, end }: Range, text: string): boolean {
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) return this.#equalsUtf8(start, end, text);
      if (start + index >= end || code !== this.#bytes[start + index]) return false;
    }
    return end - start === text.length;
  }

  #equalsUtf8(start: number, end: number, text: string): boolean {
    return this.#bytes.compare(Buffer.from(text, 'utf8'), undefined, undefined, start, end) === 0;
  }

  wipe(): void {
    this.#bytes.fill(0);
  }
}
