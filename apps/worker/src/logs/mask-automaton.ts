import { MaskTrie, ROOT } from './mask-trie.js';

const { imul } = Math;
/** How many bytes decide how far a leap goes. */
const GRAM = 3;
const MIN_SLOTS_LOG2 = 8;
const MAX_SLOTS_LOG2 = 16;
/** What all tables together use for a node, and what they use besides for one that does not follow its parent. */
const NODE_BYTES = 8;
const BRANCH_BYTES = 40;
/** After so many patterns, or nodes, others may have their turn. */
const STEP = 1024;

/** A form of a value, as it may stand in the output. */
export interface Pattern {
  readonly bytes: Uint8Array;
  /** The byte before it belongs to the match as well, whatever it is. */
  readonly withByteBefore?: boolean;
  /** What may follow it and then belongs to the match as well. */
  readonly endings?: readonly Uint8Array[];
}

/** The most memory that an automaton uses for the pattern, in bytes. Its leaps use 64 KiB at most, however many patterns it has. */
export function maxBytesOf({ bytes, endings = [] }: Pattern): number {
  const length = endings.reduce((sum, ending) => sum + ending.length, bytes.length);
  return NODE_BYTES * length + BRANCH_BYTES * (1 + endings.length);
}

/** Folds nothing. */
export const IDENTITY = Uint8Array.from({ length: 256 }, (_none, byte) => byte);

/**
 * Finds every occurrence of many byte patterns in one pass (Aho–Corasick), and leaps over what cannot begin one
 * (Wu–Manber). Its time is linear in the length of the text, whatever text and patterns are; its memory is at most the sum of
 * `maxBytesOf` its patterns, and the leaps.
 */
export class MaskAutomaton {
  readonly #minLength: number;
  /** By the hash of three bytes: when these end a window of `#minLength`, how far it may move on without passing a beginning. */
  readonly #leaps: Uint8Array;
  readonly #trie: MaskTrie;
  /** The node of the longest suffix that another pattern begins with. */
  readonly #fail: Int32Array;
  /** The longest match that ends at the node, as an index into `#lengths`; the length at 0 is 0, for none. */
  readonly #longest: Uint16Array;
  readonly #lengths: Int32Array;

  private constructor(
    size: Size,
    private readonly fold: Uint8Array,
  ) {
    this.#minLength = size.minLength;
    const gramsLog2 = Math.ceil(Math.log2(16 * size.patterns + 1));
    const slotsLog2 = Math.min(Math.max(gramsLog2, MIN_SLOTS_LOG2), MAX_SLOTS_LOG2);
    this.#leaps = new Uint8Array(2 ** slotsLog2).fill(this.#minLength - GRAM + 1);
    this.#trie = new MaskTrie(size.bytes + 1, size.branches);
    this.#fail = new Int32Array(size.bytes + 1);
    this.#longest = new Uint16Array(size.bytes + 1);
    this.#lengths = Int32Array.from(size.lengths).sort();
  }

  /**
   * Made of patterns of three bytes and more, in steps; when the making is broken off, nothing of them is left in it. Bytes
   * that `fold` maps to the same byte count as equal.
   */
  static *make(patterns: readonly Pattern[], fold: Uint8Array): Generator<void, MaskAutomaton> {
    const automaton = new MaskAutomaton(yield* sizeOf(patterns), fold);
    let isMade = false;
    try {
      yield* automaton.#insert(patterns);
      yield* automaton.#link();
      isMade = true;
      return automaton;
    } finally {
      if (!isMade) automaton.forget();
    }
  }

  /** Reads on from `node`, and reports the longest match wherever any ends. Returns the node after the text. */
  scan(node: number, text: Uint8Array, found: (end: number, length: number) => void): number {
    let at = node;
    for (let index = 0; index < text.length;) {
      if (at === ROOT) {
        index = this.#leap(text, index);
        if (index >= text.length) break;
      }
      at = this.#step(at, this.fold[text[index] ?? 0] ?? 0);
      index += 1;
      const longest = this.#longest[at] ?? 0;
      if (longest > 0) found(index, this.#lengths[longest] ?? 0);
    }
    return at;
  }

  /** How many of the last bytes may still become part of a match. */
  depth(node: number): number {
    return this.#trie.depthOf(node);
  }

  /** The memory that it uses, in bytes. */
  get byteLength(): number {
    return this.#tables.reduce((sum, table) => sum + table.byteLength, this.#trie.byteLength);
  }

  /** The patterns are gone from memory; nothing matches any more. */
  forget(): void {
    for (const table of this.#tables) table.fill(0);
    this.#leaps.fill(1);
    this.#trie.forget();
  }

  get #tables(): readonly (Uint8Array | Uint16Array | Int32Array)[] {
    return [this.#leaps, this.#fail, this.#longest, this.#lengths];
  }

  /** The first place from `from` on at which a pattern may begin; the end of the text is one. */
  #leap(text: Uint8Array, from: number): number {
    const { fold } = this;
    const leaps = this.#leaps;
    const mask = leaps.length - 1;
    const reach = this.#minLength - 1;
    let index = from;
    for (let last = index + reach; last < text.length; last = index + reach) {
      const leap = leaps[gram(fold, text, last - 2) & mask] ?? 0;
      if (leap === 0) return index;
      index += leap;
    }
    return index;
  }

  /** The node after `byte`. */
  #step(node: number, byte: number): number {
    const trie = this.#trie;
    let at = node;
    while (at !== ROOT) {
      const next = trie.child(at, byte);
      if (next !== ROOT) return next;
      at = this.#fail[at] ?? ROOT;
    }
    return trie.child(ROOT, byte);
  }

  *#insert(patterns: readonly Pattern[]): Generator<void> {
    const places = new Map([...this.#lengths].map((length, place) => [length, place]));
    for (const pattern of patterns) {
      const { bytes, endings = [] } = pattern;
      const [length = 0, ...longer] = lengthsOf(pattern);
      const node = this.#extend(ROOT, bytes, places.get(length));
      for (const [at, ending] of endings.entries()) this.#extend(node, ending, places.get(longer[at] ?? 0));
      this.#shortenLeaps(bytes);
      yield;
    }
  }

  /** The node that the bytes lead to from `node`; a match ends there, of the length at `place`. */
  #extend(node: number, bytes: Uint8Array, place = 0): number {
    let at = node;
    for (const byte of bytes) at = this.#trie.grow(at, this.fold[byte] ?? 0);
    this.#longest[at] = Math.max(this.#longest[at] ?? 0, place);
    return at;
  }

  /** No leap passes a beginning of the pattern. */
  #shortenLeaps(bytes: Uint8Array): void {
    const furthest = this.#minLength - GRAM;
    for (let at = 0; at <= furthest; at += 1) {
      const slot = gram(this.fold, bytes, at) & (this.#leaps.length - 1);
      this.#leaps[slot] = Math.min(this.#leaps[slot] ?? 0, furthest - at);
    }
  }

  /** By depth, so that a node's suffixes are linked before the node. */
  *#link(): Generator<void> {
    const trie = this.#trie;
    for (const [at, node] of (yield* trie.byDepth()).entries()) {
      const parent = trie.parentOf(node);
      const suffix = parent === ROOT ? ROOT : this.#step(this.#fail[parent] ?? ROOT, trie.byteOf(node));
      this.#fail[node] = suffix;
      if ((this.#longest[node] ?? 0) === 0) this.#longest[node] = this.#longest[suffix] ?? 0;
      if (at % STEP === 0) yield;
    }
  }
}

/** How large the tables of an automaton have to be. */
interface Size {
  readonly patterns: number;
  readonly bytes: number;
  /** The most nodes that do not follow their parent. */
  readonly branches: number;
  readonly minLength: number;
  /** Of all matches, each once, and 0. */
  readonly lengths: ReadonlySet<number>;
}

function* sizeOf(patterns: readonly Pattern[]): Generator<void, Size> {
  let [bytes, branches, minLength] = [0, 0, 64];
  const lengths = new Set([0]);
  for (const [at, pattern] of patterns.entries()) {
    const { length } = pattern.bytes;
    const { endings = [] } = pattern;
    bytes += endings.reduce((sum, ending) => sum + ending.length, length);
    branches += 1 + endings.length;
    minLength = Math.min(minLength, length);
    for (const each of lengthsOf(pattern)) lengths.add(each);
    if (at % STEP === 0) yield;
  }
  return { patterns: patterns.length, bytes, branches, minLength, lengths };
}

/** How long its matches are: without an ending, and with each. */
function lengthsOf({ bytes, withByteBefore = false, endings = [] }: Pattern): number[] {
  const length = bytes.length + (withByteBefore ? 1 : 0);
  return [length, ...endings.map((ending) => length + ending.length)];
}

/** Three folded bytes, mixed. */
function gram(fold: Uint8Array, text: Uint8Array, at: number): number {
  const first = fold[text[at] ?? 0] ?? 0;
  const second = fold[text[at + 1] ?? 0] ?? 0;
  const third = fold[text[at + 2] ?? 0] ?? 0;
  const mixed = imul((first << 16) | (second << 8) | third, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}
