const CHAINED = 0x100;
const BRANCHING = 0x200;
const BYTE = 0xff;
const NO_NODE = 0;
/** How many bytes one look of the skipping takes in. */
const GRAM = 3;
const MIN_SLOTS_LOG2 = 8;
const MAX_SLOTS_LOG2 = 16;

/** A form of a value, as it may stand in the output. */
export interface Pattern {
  readonly bytes: Uint8Array;
  /** The byte before it belongs to the match as well, whatever it is. */
  readonly withByteBefore?: boolean;
  /** What may follow it and then belongs to the match as well. */
  readonly endings?: readonly Uint8Array[];
}

/** Folds nothing. */
export const IDENTITY = Uint8Array.from({ length: 256 }, (_none, byte) => byte);

/**
 * Finds every occurrence of many byte patterns in one pass (Aho–Corasick), and leaps over what cannot begin one
 * (Wu–Manber). The time is linear in the text, whatever text and patterns are; memory is at most 8 bytes for each byte
 * of the patterns, and 64 KiB.
 */
export class MaskAutomaton {
  readonly #minLength: number;
  /** For each three bytes how far the next possible beginning is away at least, from the window they end. */
  readonly #leaps: Uint8Array;
  /** The byte that leads to a node; whether it is the child of the node before it; whether it has other children. */
  readonly #labels: Uint16Array;
  readonly #root = new Int32Array(256);
  readonly #fail: Int32Array;
  /** The longest match that ends at the node, as a place in the list of all lengths; the first length is 0, for none. */
  readonly #longest: Uint16Array;
  readonly #lengths: Int32Array;
  /** Edges to children that do not follow their parent, by hashing (node, byte). */
  readonly #edgeKeys: Int32Array;
  readonly #edgeNodes: Int32Array;
  /** Nodes that do not follow their parent, in order, and their parents: with them begin chains of nodes that do. */
  readonly #chains: Int32Array;
  readonly #parents: Int32Array;
  #chainCount = 0;
  #nodes = 1;

  /** Takes patterns of three bytes and more. `fold` makes bytes equal that count as equal. */
  constructor(
    patterns: readonly Pattern[],
    private readonly fold: Uint8Array,
  ) {
    const capacity = patterns.reduce(
      (sum, { bytes, endings = [] }) =>
        endings.reduce((more, ending) => more + ending.length, sum + bytes.length),
      1,
    );
    const branches = patterns.reduce((sum, { endings = [] }) => sum + 1 + endings.length, 0);
    this.#minLength = patterns.reduce((least, { bytes }) => Math.min(least, bytes.length), 64);
    const gramsLog2 = Math.ceil(Math.log2(16 * patterns.length + 1));
    const slotsLog2 = Math.min(Math.max(gramsLog2, MIN_SLOTS_LOG2), MAX_SLOTS_LOG2);
    this.#leaps = new Uint8Array(2 ** slotsLog2).fill(this.#minLength - GRAM + 1);
    this.#labels = new Uint16Array(capacity + 1);
    this.#fail = new Int32Array(capacity);
    this.#longest = new Uint16Array(capacity);
    this.#lengths = Int32Array.from(
      [0, ...new Set(patterns.flatMap(lengthsOf))].sort((one, other) => one - other),
    );
    const slots = 2 ** Math.ceil(Math.log2(2 * branches + 2));
    this.#edgeKeys = new Int32Array(slots).fill(-1);
    this.#edgeNodes = new Int32Array(slots);
    this.#chains = new Int32Array(branches);
    this.#parents = new Int32Array(branches);
    for (const pattern of patterns) this.#insert(pattern);
    this.#link();
  }

  /** Reads on from `node`, and tells of the longest match wherever some end. Gives back the node after the text. */
  scan(node: number, text: Uint8Array, found: (end: number, length: number) => void): number {
    let at = node;
    for (let index = 0; index < text.length;) {
      if (at === 0) {
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
    let depth = 0;
    for (let at = node; at !== 0;) {
      const chain = this.#chainOf(at);
      depth += at - (this.#chains[chain] ?? 0) + 1;
      at = this.#parents[chain] ?? 0;
    }
    return depth;
  }

  /** What it takes of memory, in bytes. */
  get byteLength(): number {
    return this.#tables.reduce((sum, table) => sum + table.byteLength, 0);
  }

  /** The patterns are gone from memory; nothing matches any more. */
  forget(): void {
    for (const table of this.#tables) table.fill(0);
    this.#edgeKeys.fill(-1);
    this.#leaps.fill(1);
    this.#chainCount = 0;
  }

  get #tables(): readonly (Uint8Array | Uint16Array | Int32Array)[] {
    return [
      this.#leaps,
      this.#labels,
      this.#root,
      this.#fail,
      this.#longest,
      this.#lengths,
      this.#edgeKeys,
      this.#edgeNodes,
      this.#chains,
      this.#parents,
    ];
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

  /** The node after `byte`. The root is 0. */
  #step(node: number, byte: number): number {
    const labels = this.#labels;
    const chained = CHAINED | byte;
    let at = node;
    while (at !== 0) {
      if (((labels[at + 1] ?? 0) & ~BRANCHING) === chained) return at + 1;
      if (((labels[at] ?? 0) & BRANCHING) !== 0) {
        const next = this.#edge(at, byte);
        if (next !== NO_NODE) return next;
      }
      at = this.#fail[at] ?? 0;
    }
    return this.#root[byte] ?? 0;
  }

  #insert(pattern: Pattern): void {
    const { bytes, endings = [] } = pattern;
    const [length = 0, ...longer] = lengthsOf(pattern);
    const node = this.#extend(0, bytes, length);
    for (const [at, ending] of endings.entries()) this.#extend(node, ending, longer[at] ?? 0);
    const furthest = this.#minLength - GRAM;
    for (let at = 0; at <= furthest; at += 1) {
      const slot = gram(this.fold, bytes, at) & (this.#leaps.length - 1);
      this.#leaps[slot] = Math.min(this.#leaps[slot] ?? 0, furthest - at);
    }
  }

  /** The node that the bytes lead to from `node`, where a match of that length ends. */
  #extend(node: number, bytes: Uint8Array, length: number): number {
    let at = node;
    for (const raw of bytes) {
      const byte = this.fold[raw] ?? 0;
      at = this.#child(at, byte) || this.#grow(at, byte);
    }
    this.#longest[at] = Math.max(this.#longest[at] ?? 0, this.#lengths.indexOf(length));
    return at;
  }

  #child(node: number, byte: number): number {
    if (node === 0) return this.#root[byte] ?? 0;
    if (((this.#labels[node + 1] ?? 0) & ~BRANCHING) === (CHAINED | byte)) return node + 1;
    return ((this.#labels[node] ?? 0) & BRANCHING) === 0 ? NO_NODE : this.#edge(node, byte);
  }

  #grow(node: number, byte: number): number {
    const next = this.#nodes;
    this.#nodes += 1;
    if (node !== 0 && next === node + 1) {
      this.#labels[next] = CHAINED | byte;
      return next;
    }
    this.#labels[next] = byte;
    this.#chains[this.#chainCount] = next;
    this.#parents[this.#chainCount] = node;
    this.#chainCount += 1;
    if (node === 0) {
      this.#root[byte] = next;
    } else {
      this.#labels[node] = (this.#labels[node] ?? 0) | BRANCHING;
      this.#addEdge(node, byte, next);
    }
    return next;
  }

  /** In the order of their depths, so that a node's suffixes are linked before it. */
  #link(): void {
    for (const node of this.#byDepth()) {
      const label = this.#labels[node] ?? 0;
      const parent = (label & CHAINED) === 0 ? (this.#parents[this.#chainOf(node)] ?? 0) : node - 1;
      const suffix = parent === 0 ? 0 : this.#step(this.#fail[parent] ?? 0, label & BYTE);
      this.#fail[node] = suffix;
      if ((this.#longest[node] ?? 0) === 0) this.#longest[node] = this.#longest[suffix] ?? 0;
    }
  }

  /** Every node but the root. */
  #byDepth(): Int32Array {
    const depths = new Int32Array(this.#nodes);
    let deepest = 0;
    for (let node = 1, chain = 0; node < this.#nodes; node += 1) {
      const isFirst = this.#chains[chain] === node;
      depths[node] = (depths[isFirst ? (this.#parents[chain] ?? 0) : node - 1] ?? 0) + 1;
      if (isFirst) chain += 1;
      deepest = Math.max(deepest, depths[node] ?? 0);
    }
    const places = new Int32Array(deepest + 2);
    for (let node = 1; node < this.#nodes; node += 1) {
      const depth = depths[node] ?? 0;
      places[depth + 1] = (places[depth + 1] ?? 0) + 1;
    }
    for (let depth = 1; depth < places.length; depth += 1) {
      places[depth] = (places[depth] ?? 0) + (places[depth - 1] ?? 0);
    }
    const order = new Int32Array(this.#nodes - 1);
    for (let node = 1; node < this.#nodes; node += 1) {
      const depth = depths[node] ?? 0;
      const place = places[depth] ?? 0;
      order[place] = node;
      places[depth] = place + 1;
    }
    return order;
  }

  /** The chain that the node is in. */
  #chainOf(node: number): number {
    let [low, high] = [0, this.#chainCount - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#chains[middle] ?? 0) > node) high = middle - 1;
      else low = middle;
    }
    return low;
  }

  #edge(node: number, byte: number): number {
    const key = node * 256 + byte;
    const mask = this.#edgeKeys.length - 1;
    for (let at = hash(key) & mask; ; at = (at + 1) & mask) {
      const found = this.#edgeKeys[at];
      if (found === key) return this.#edgeNodes[at] ?? NO_NODE;
      if (found === -1) return NO_NODE;
    }
  }

  #addEdge(node: number, byte: number, next: number): void {
    const key = node * 256 + byte;
    const mask = this.#edgeKeys.length - 1;
    let at = hash(key) & mask;
    while (this.#edgeKeys[at] !== -1) at = (at + 1) & mask;
    this.#edgeKeys[at] = key;
    this.#edgeNodes[at] = next;
  }
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
  const mixed = Math.imul((first << 16) | (second << 8) | third, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

/** MurmurHash3's finalizer: neighbouring nodes and bytes spread over the whole table. */
function hash(key: number): number {
  let mixed = Math.imul(key ^ (key >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
