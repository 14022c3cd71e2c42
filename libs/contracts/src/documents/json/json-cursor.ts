import { sequenceLength, writeCodePoint } from '../text/utf8.js';
import type { Refuse } from '../refusal.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const END = -1;

/** Deeper texts are refused: no document of Valise nests further than sixteen levels. */
export const MAX_JSON_DEPTH = 64;

/** 1 for the bytes that stand for themselves inside a string: ASCII but controls, quote and backslash. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte < 0x80 && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
);

/** Longer runs are copied natively; for shorter ones the call costs more than the copy. */
const LONG_RUN = 64;

/** What a short escape stands for, by its letter. */
const ESCAPES: Readonly<Record<number, number>> = {
  0x22: 0x22,
  0x5c: 0x5c,
  0x2f: 0x2f,
  0x62: 0x08,
  0x66: 0x0c,
  0x6e: 0x0a,
  0x72: 0x0d,
  0x74: 0x09,
};

const LITERALS: Readonly<Record<number, readonly number[]>> = {
  0x74: [...Buffer.from('true')],
  0x66: [...Buffer.from('false')],
  0x6e: [...Buffer.from('null')],
};

/**
 * The JSON grammar (RFC 8259) over bytes, strict: no BOM, no ill-formed UTF-8, no lone surrogate however it is
 * spelled, bounded depth. It makes no JavaScript string of what it reads; refusals carry rule and offset alone.
 */
export class JsonCursor {
  #at = 0;
  readonly #bytes: Uint8Array;
  readonly #refuse: Refuse;

  constructor(bytes: Uint8Array, refuse: Refuse) {
    this.#bytes = bytes;
    this.#refuse = refuse;
  }

  fail(rule: string): never {
    return this.#refuse({ rule, offset: this.#at });
  }

  /** The next token's first byte, or -1 at the end; white space before it is consumed. */
  peek(): number {
    for (;;) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) return END;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.#at++;
    }
  }

  /** Consumes an object; `member` consumes each key (with `text`) and each value. */
  object(member: () => void): void {
    this.#take(OPEN_OBJECT);
    if (this.#takeIf(CLOSE_OBJECT)) return;
    do member();
    while (this.#takeIf(COMMA));
    this.#take(CLOSE_OBJECT);
  }

  /** Consumes an array; `item` consumes each element. */
  list(item: (index: number) => void): number {
    this.#take(OPEN_LIST);
    if (this.#takeIf(CLOSE_LIST)) return 0;
    let count = 0;
    do item(count++);
    while (this.#takeIf(COMMA));
    this.#take(CLOSE_LIST);
    return count;
  }

  colon(): void {
    this.#take(COLON);
  }

  /** Nothing but white space may follow. */
  end(): void {
    if (this.peek() !== END) this.fail('trailing_text');
  }

  /**
   * Consumes a string. With `into`, its decoded bytes are written there from `to`.
   * @returns the offset after the last decoded byte
   */
  text(into: Uint8Array | null, to: number): number {
    this.#take(QUOTE);
    for (;;) {
      to = this.#plain(into, to);
      const byte = this.#byte();
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        const point = this.#escape();
        if (into) to = writeCodePoint(into, to, point);
        continue;
      }
      if (byte < 0x20) this.fail(byte === END ? 'truncated' : 'control_character');
      const length = sequenceLength(this.#bytes, this.#at);
      if (length === 0) this.fail('utf8');
      to = this.#copy(into, to, this.#at + length);
    }
    this.#at++;
    return to;
  }

  /** Consumes a run of characters that stand for themselves in one byte each. */
  #plain(into: Uint8Array | null, to: number): number {
    const bytes = this.#bytes;
    const { length } = bytes;
    let end = this.#at;
    while (end < length && PLAIN[bytes[end] ?? 0] === 1) end++;
    return this.#copy(into, to, end);
  }

  #copy(into: Uint8Array | null, to: number, end: number): number {
    const bytes = this.#bytes;
    let at = this.#at;
    this.#at = end;
    if (!into) return to;
    if (end - at > LONG_RUN) {
      into.set(bytes.subarray(at, end), to);
      return to + (end - at);
    }
    while (at < end) into[to++] = bytes[at++] ?? 0;
    return to;
  }

  /** Consumes any value, judging its grammar alone. */
  skip(depth = 0): void {
    const first = this.peek();
    if (first === QUOTE) {
      this.text(null, 0);
    } else if (first === OPEN_OBJECT || first === OPEN_LIST) {
      if (depth === MAX_JSON_DEPTH) this.#refuse({ rule: 'depth', offset: this.#at, limit: MAX_JSON_DEPTH });
      if (first === OPEN_OBJECT)
        this.object(() => {
          this.#skipMember(depth);
        });
      else
        this.list(() => {
          this.skip(depth + 1);
        });
    } else if (first === 0x2d || isDigit(first)) {
      this.#number();
    } else {
      this.#literal(first);
    }
  }

  #skipMember(depth: number): void {
    this.text(null, 0);
    this.colon();
    this.skip(depth + 1);
  }

  #literal(first: number): void {
    const literal = LITERALS[first];
    if (!literal) this.fail(first === END ? 'truncated' : 'unexpected');
    for (const byte of literal) {
      if (this.#bytes[this.#at] !== byte) this.fail('unexpected');
      this.#at++;
    }
  }

  #number(): void {
    if (this.#byte() === 0x2d) this.#at++;
    if (this.#byte() === 0x30) this.#at++;
    else this.#digits();
    if (this.#byte() === 0x2e) {
      this.#at++;
      this.#digits();
    }
    if ((this.#byte() | 0x20) === 0x65) {
      this.#at++;
      if (this.#byte() === 0x2b || this.#byte() === 0x2d) this.#at++;
      this.#digits();
    }
  }

  #digits(): void {
    if (!isDigit(this.#byte())) this.fail('number');
    while (isDigit(this.#byte())) this.#at++;
  }

  /** Consumes an escape, the second half of a surrogate pair included. */
  #escape(): number {
    const letter = this.#bytes[this.#at + 1] ?? END;
    if (letter !== 0x75) {
      const point = ESCAPES[letter];
      if (point === undefined) this.fail('escape');
      this.#at += 2;
      return point;
    }
    const unit = this.#unit(this.#at);
    if (unit < 0xd800 || unit > 0xdfff) {
      this.#at += 6;
      return unit;
    }
    if (unit > 0xdbff || this.#bytes[this.#at + 6] !== BACKSLASH || this.#bytes[this.#at + 7] !== 0x75) {
      this.fail('lone_surrogate');
    }
    const low = this.#unit(this.#at + 6);
    if (low < 0xdc00 || low > 0xdfff) this.fail('lone_surrogate');
    this.#at += 12;
    return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
  }

  /** The four hexadecimal digits of the `\u` escape at `at`. */
  #unit(at: number): number {
    let unit = 0;
    for (let index = at + 2; index < at + 6; index++) {
      const byte = this.#bytes[index] ?? END;
      const letter = byte | 0x20;
      if (isDigit(byte)) unit = unit * 16 + (byte - 0x30);
      else if (letter >= 0x61 && letter <= 0x66) unit = unit * 16 + (letter - 0x57);
      else this.fail('escape');
    }
    return unit;
  }

  #byte(): number {
    return this.#bytes[this.#at] ?? END;
  }

  #take(byte: number): void {
    if (this.#takeIf(byte)) return;
    this.fail(this.#byte() === END ? 'truncated' : 'unexpected');
  }

  #takeIf(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.#at++;
    return true;
  }
}

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
