/** Shorter values would mask half of every log; they are counted instead. In bytes. */
const MIN_PATTERN_BYTES = 6;
const LF = 0x0a;
const CR = 0x0d;
/** Nodes of the trie are numbered from 0, the root; an edge is found by hashing (node, byte). */
const NO_EDGE = 0;

/**
 * A multi-pattern automaton (Aho–Corasick) over bytes, for values and each of their lines. It holds them until
 * `forget`. Memory grows with the bytes of the patterns, at about 40 bytes each.
 */
export class MaskPatterns {
  /** Values that are too short to be masked and not empty. */
  readonly unmaskable: number;
  readonly #edgeKeys: Int32Array;
  readonly #edgeNodes: Int32Array;
  readonly #root = new Int32Array(256);
  readonly #fail: Int32Array;
  readonly #depth: Int32Array;
  readonly #longest: Int32Array;
  #nodes = 1;

  constructor(values: readonly Uint8Array[]) {
    this.unmaskable = values.filter(({ length }) => length > 0 && length < MIN_PATTERN_BYTES).length;
    const patterns = values.flatMap(patternsOf).filter(({ length }) => length >= MIN_PATTERN_BYTES);
    const capacity = patterns.reduce((sum, { length }) => sum + length, 1);
    const slots = 2 ** Math.ceil(Math.log2(2 * capacity + 2));
    this.#edgeKeys = new Int32Array(slots).fill(-1);
    this.#edgeNodes = new Int32Array(slots);
    this.#fail = new Int32Array(capacity);
    this.#depth = new Int32Array(capacity);
    this.#longest = new Int32Array(capacity);
    const parents = new Int32Array(capacity);
    const bytes = new Uint8Array(capacity);
    for (const pattern of patterns) this.#insert(pattern, parents, bytes);
    this.#link(parents, bytes);
    bytes.fill(0);
  }

  /** The node after `byte`. The root is 0. */
  step(node: number, byte: number): number {
    for (let at = node; at !== 0; at = this.#fail[at] ?? 0) {
      const next = this.#edge(at, byte);
      if (next !== NO_EDGE) return next;
    }
    return this.#root[byte] ?? 0;
  }

  /** How many of the last bytes may still become part of a match. */
  depth(node: number): number {
    return this.#depth[node] ?? 0;
  }

  /** Length of the longest pattern that ends here, or 0. */
  longest(node: number): number {
    return this.#longest[node] ?? 0;
  }

  /** Whether a match may begin with `byte`. */
  begins(byte: number): boolean {
    return this.#root[byte] !== 0;
  }

  /** The patterns are gone from memory; nothing matches any more. */
  forget(): void {
    for (const table of [
      this.#edgeKeys,
      this.#edgeNodes,
      this.#root,
      this.#fail,
      this.#depth,
      this.#longest,
    ]) {
      table.fill(0);
    }
    // A stream may still stand at a node that is gone; from there no edge leads anywhere.
    this.#edgeKeys.fill(-1);
  }

  #insert(pattern: Uint8Array, parents: Int32Array, bytes: Uint8Array): void {
    let node = 0;
    for (const byte of pattern) {
      let next = node === 0 ? (this.#root[byte] ?? 0) : this.#edge(node, byte);
      if (next === NO_EDGE) {
        next = this.#nodes++;
        parents[next] = node;
        bytes[next] = byte;
        this.#depth[next] = this.depth(node) + 1;
        if (node === 0) this.#root[byte] = next;
        else this.#addEdge(node, byte, next);
      }
      node = next;
    }
    this.#longest[node] = pattern.length;
  }

  /** Breadth first, so that a node's suffixes are linked before it. */
  #link(parents: Int32Array, bytes: Uint8Array): void {
    const order = Array.from({ length: this.#nodes - 1 }, (_, index) => index + 1);
    order.sort((a, b) => this.depth(a) - this.depth(b));
    for (const node of order) {
      const parent = parents[node] ?? 0;
      const suffix = parent === 0 ? 0 : this.step(this.#fail[parent] ?? 0, bytes[node] ?? 0);
      this.#fail[node] = suffix;
      if (this.longest(node) === 0) this.#longest[node] = this.longest(suffix);
    }
  }

  #edge(node: number, byte: number): number {
    const key = node * 256 + byte;
    const mask = this.#edgeKeys.length - 1;
    for (let at = hash(key) & mask; ; at = (at + 1) & mask) {
      const found = this.#edgeKeys[at];
      if (found === key) return this.#edgeNodes[at] ?? NO_EDGE;
      if (found === -1) return NO_EDGE;
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

/** MurmurHash3's finalizer: neighbouring nodes and bytes spread over the whole table. */
function hash(key: number): number {
  let mixed = Math.imul(key ^ (key >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/** The value, and each of its lines where it has several (LF, CRLF or CR): a program may print one alone. */
function patternsOf(value: Uint8Array): Uint8Array[] {
  if (!value.includes(LF) && !value.includes(CR)) return [value];
  const lines = splitAt(LF, value).map((line) => (line.at(-1) === CR ? line.subarray(0, -1) : line));
  return [value, ...lines, ...lines.filter((line) => line.includes(CR)).flatMap((line) => splitAt(CR, line))];
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
