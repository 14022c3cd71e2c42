import { inSlices } from '../clock/in-slices.js';
import { offHeap } from '@valise/process';
import { IDENTITY, MaskAutomaton, maxBytesOf, type Pattern } from './mask-automaton.js';
import { base64Forms, digitForms, distinct, writtenForms } from './mask-forms.js';

/** Shorter values would mask half of every log; they are counted instead. In bytes. */
export const MIN_MASKED_BYTES = 6;
/** The most memory that the automata of an attempt use. In bytes. */
const MAX_BYTES = 31 * 1024 * 1024;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

const folded = (pairs: Readonly<Record<string, string>>): Uint8Array => {
  const fold = IDENTITY.slice();
  for (const [from, to] of Object.entries(pairs)) fold[from.charCodeAt(0)] = to.charCodeAt(0);
  return fold;
};
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
/** base64url is base64 with two other characters. */
const BASE64_ALPHABETS = folded({ '-': '+', _: '/' });
const CASES = folded(Object.fromEntries(Array.from(LETTERS, (letter) => [letter.toUpperCase(), letter])));

/** What a stream is searched with: as it is, and without its line ends, for encoders wrap their lines at any width. */
export interface Searches {
  readonly asItIs: readonly MaskAutomaton[];
  readonly unbroken: readonly MaskAutomaton[];
}

/**
 * What the log of an attempt must not show: each value, each of its lines, and what encoders make of them. Holds them
 * until `forget`.
 */
export class MaskPatterns {
  /** Values, and lines of values, that are too short to be masked and not empty. */
  readonly unmaskable: number;
  readonly #values: readonly Uint8Array[];
  readonly #making: Generator<void, void>;
  #searches = NOTHING;
  #prepared: Promise<void> | null = null;
  #isForgotten = false;

  /** The values stay the caller's to wipe. */
  constructor(values: readonly Uint8Array[]) {
    this.unmaskable = values
      .flatMap((value) => [value, ...linesOf(value)])
      .filter(({ length }) => length > 0 && length < MIN_MASKED_BYTES).length;
    this.#values = values.filter(({ length }) => length >= MIN_MASKED_BYTES).map(copyOf);
    this.#making = this.#make();
  }

  /**
   * Makes the searches, when the first output comes: a task that writes nothing costs nothing. For the largest deliveries
   * that takes a while, and the leases of other slots are renewed meanwhile.
   * @throws once the values are forgotten
   */
  async prepare(): Promise<Searches> {
    await (this.#prepared ??= inSlices(this.#making));
    if (this.#isForgotten) throw new Error('the values are forgotten');
    return this.#searches;
  }

  /** The values are gone from memory, also when the searches are half made; nothing matches any more. */
  forget(): void {
    this.#isForgotten = true;
    this.#making.return();
    for (const value of this.#values) value.fill(0);
    const { asItIs, unbroken } = this.#searches;
    for (const automaton of [...asItIs, ...unbroken]) automaton.forget();
  }

  *#make(): Generator<void, void> {
    this.#searches = yield* searchesFor(this.#values);
  }
}

const NOTHING: Searches = { asItIs: [], unbroken: [] };

/** The values are wiped, and all that was made of them; and so are the searches, unless all of them are made. */
function* searchesFor(values: readonly Uint8Array[]): Generator<void, Searches> {
  if (values.length === 0) return NOTHING;
  const parts: Uint8Array[] = [];
  const made: MaskAutomaton[] = [];
  let searches: Searches | null = null;
  try {
    for (const value of values) {
      parts.push(...distinct(partsOf(value)));
      yield;
    }
    parts.sort((one, other) => one.length - other.length);
    const room = new Room(parts);
    for (const [patternsOf, fold] of ENCODED) made.push(yield* automatonFor(parts, patternsOf, fold, room));
    // The last, for the parts are among its forms, and wiped with them.
    const written = yield* automatonFor(parts, ofForms(writtenForms), IDENTITY, room);
    searches = { asItIs: [written], unbroken: made };
    return searches;
  } finally {
    for (const value of values) value.fill(0);
    if (!searches) for (const automaton of made) automaton.forget();
  }
}

/** The memory that the automata may still use. */
class Room {
  #bytes = MAX_BYTES;

  /** Set aside: the parts as they are, and their first form in digits, which is twice as long. */
  constructor(parts: readonly Uint8Array[]) {
    for (const bytes of parts) this.#bytes -= 4 * maxBytesOf({ bytes });
  }

  /** Whether there was enough. */
  take(pattern: Pattern): boolean {
    const rest = this.#bytes - maxBytesOf(pattern);
    if (rest >= 0) this.#bytes = rest;
    return rest >= 0;
  }
}

/** Makes the patterns of a part of a value; every buffer that is made for them is added to `made`, to be wiped. */
type PatternsOf = (part: Uint8Array, made: Uint8Array[], room: Room) => Generator<void, readonly Pattern[]>;

/** The first form, and as many of the others as there is room for. */
const ofForms = (formsOf: (part: Uint8Array) => Iterable<Uint8Array>): PatternsOf =>
  function* (part, made, room) {
    const patterns: Pattern[] = [];
    for (const bytes of formsOf(part)) {
      made.push(bytes);
      const isKnown = patterns.some((other) => Buffer.compare(other.bytes, bytes) === 0);
      if (isKnown) continue;
      if (patterns.length > 0 && !room.take({ bytes })) break;
      patterns.push({ bytes });
      yield;
    }
    return patterns;
  };

const ofBase64: PatternsOf = function* (part, made, room) {
  const patterns = base64Forms(part);
  for (const pattern of patterns) {
    made.push(pattern.bytes, ...(pattern.endings ?? []));
    room.take(pattern);
  }
  yield;
  return patterns;
};

const ENCODED: readonly (readonly [PatternsOf, Uint8Array])[] = [
  [ofBase64, BASE64_ALPHABETS],
  [ofForms(digitForms), CASES],
];

/** Finds what is made of each part; the patterns themselves are wiped. */
function* automatonFor(
  parts: readonly Uint8Array[],
  patternsOf: PatternsOf,
  fold: Uint8Array,
  room: Room,
): Generator<void, MaskAutomaton> {
  const made: Uint8Array[] = [];
  try {
    const patterns: Pattern[] = [];
    for (const part of parts) patterns.push(...(yield* patternsOf(part, made, room)));
    return yield* MaskAutomaton.make(patterns, fold);
  } finally {
    for (const bytes of made) bytes.fill(0);
  }
}

function copyOf(value: Uint8Array): Uint8Array {
  const copy = offHeap(value.length);
  copy.set(value);
  return copy;
}

/** The value, each of its lines where it has several (LF, CRLF or CR), and both trimmed: a program may print that alone. */
function partsOf(value: Uint8Array): Uint8Array[] {
  return [value, ...linesOf(value)]
    .flatMap((part) => {
      const bare = trimmed(part);
      return bare.length === part.length ? [part] : [part, bare];
    })
    .filter(({ length }) => length >= MIN_MASKED_BYTES);
}

function linesOf(value: Uint8Array): Uint8Array[] {
  if (!value.includes(LF) && !value.includes(CR)) return [];
  const lines = splitAt(LF, value).map((line) => (line.at(-1) === CR ? line.subarray(0, -1) : line));
  return [...lines, ...lines.filter((line) => line.includes(CR)).flatMap((line) => splitAt(CR, line))];
}

function trimmed(bytes: Uint8Array): Uint8Array {
  const isText = (byte: number): boolean => byte > SPACE;
  const start = bytes.findIndex(isText);
  return start < 0 ? bytes.subarray(0, 0) : bytes.subarray(start, bytes.findLastIndex(isText) + 1);
}

function splitAt(separator: number, bytes: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let start = 0; start <= bytes.length;) {
    const found = bytes.indexOf(separator, start);
    const end = found < 0 ? bytes.length : found;
    parts.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return parts;
}
