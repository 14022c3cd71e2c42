import { offHeap } from '../ingress/off-heap.js';
import { IDENTITY, MaskAutomaton, type Pattern } from './mask-automaton.js';
import { base64Forms, digitForms, distinct, writtenForms } from './mask-forms.js';

/** Shorter values would mask half of every log; they are counted instead. In bytes. */
export const MIN_MASKED_BYTES = 6;
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
  #searches: Searches | null = null;

  /** The values stay the caller's to wipe. */
  constructor(values: readonly Uint8Array[]) {
    this.unmaskable = values
      .flatMap((value) => [value, ...linesOf(value)])
      .filter(({ length }) => length > 0 && length < MIN_MASKED_BYTES).length;
    this.#values = values.filter(({ length }) => length >= MIN_MASKED_BYTES).map(copyOf);
  }

  /** Made when the first output comes: a task that writes nothing costs nothing. */
  get searches(): Searches {
    this.#searches ??= searchesFor(this.#values);
    return this.#searches;
  }

  /** The values are gone from memory; nothing matches any more. */
  forget(): void {
    for (const value of this.#values) value.fill(0);
    const { asItIs, unbroken } = (this.#searches ??= NOTHING);
    for (const automaton of [...asItIs, ...unbroken]) automaton.forget();
  }
}

const NOTHING: Searches = { asItIs: [], unbroken: [] };

/** The values are wiped, and all that was made of them. */
function searchesFor(values: readonly Uint8Array[]): Searches {
  if (values.length === 0) return NOTHING;
  const parts = distinct(values.flatMap(partsOf));
  const made: Uint8Array[] = [];
  const patternsOf = (formsOf: (part: Uint8Array) => Uint8Array[]): Pattern[] =>
    parts.flatMap((part) => {
      const forms = formsOf(part);
      made.push(...forms);
      return distinct(forms).map((bytes) => ({ bytes }));
    });
  const base64 = parts.flatMap(base64Forms);
  const searches = {
    asItIs: [new MaskAutomaton(patternsOf(writtenForms), IDENTITY)],
    unbroken: [new MaskAutomaton(base64, BASE64_ALPHABETS), new MaskAutomaton(patternsOf(digitForms), CASES)],
  };
  for (const { bytes, endings = [] } of base64) made.push(bytes, ...endings);
  for (const bytes of [...values, ...made]) bytes.fill(0);
  return searches;
}

function copyOf(value: Uint8Array): Uint8Array {
  const copy = offHeap(value.length);
  copy.set(value);
  return copy;
}

/** The value, each of its lines where it has several (LF, CRLF or CR), and both trimmed: a program may print that alone. */
function partsOf(value: Uint8Array): Uint8Array[] {
  return [value, ...linesOf(value)]
    .flatMap((part) => [part, trimmed(part)])
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
