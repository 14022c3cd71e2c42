const { imul } = Math;
const CHAINED = 0x100;
const BRANCHING = 0x200;
const BYTE = 0xff;
/** After so many nodes the maker may rest. */
const STEP_NODES = 8192;

/** The root of every trie. No edge leads to it, so it stands for no node as well. */
export const ROOT = 0;

/**
 * A tree of bytes, in tables that can be wiped. A node that follows its parent costs no edge; the others are found by
 * hashing. Nodes are numbered as they come.
 */
export class MaskTrie {
  /** The byte that leads to a node; whether it is the child of the node before it; whether it has other children. */
  readonly #labels: Uint16Array;
  readonly #first = new Int32Array(256);
  /** Edges to children that do not follow their parent, by hashing (node, byte). */
  readonly #edgeKeys: Int32Array;
  readonly #edgeNodes: Int32Array;
  /** Nodes that do not follow their parent, in order, and their parents: with them begin chains of nodes that do. */
  readonly #chains: Int32Array;
  readonly #parents: Int32Array;
  #chainCount = 0;
  #size = 1;

  /** Has room for so many nodes with the root, of which so many do not follow their parent. */
  constructor(capacity: number, branches: number) {
    this.#labels = new Uint16Array(capacity + 1);
    const slots = 2 ** Math.ceil(Math.log2(2 * branches + 2));
    this.#edgeKeys = new Int32Array(slots).fill(-1);
    this.#edgeNodes = new Int32Array(slots);
    this.#chains = new Int32Array(branches);
    this.#parents = new Int32Array(branches);
  }

  /** The child of the node, or ROOT where it has none for that byte. */
  child(node: number, byte: number): number {
    if (node === ROOT) return this.#first[byte] ?? ROOT;
    if (((this.#labels[node + 1] ?? 0) & ~BRANCHING) === (CHAINED | byte)) return node + 1;
    return ((this.#labels[node] ?? 0) & BRANCHING) === 0 ? ROOT : this.#edge(node, byte);
  }

  /** The child of the node, which it has afterwards. */
  grow(node: number, byte: number): number {
    return this.child(node, byte) || this.#add(node, byte);
  }

  /** The byte that leads to a node. */
  byteOf(node: number): number {
    return (this.#labels[node] ?? 0) & BYTE;
  }

  parentOf(node: number): number {
    const isChained = ((this.#labels[node] ?? 0) & CHAINED) !== 0;
    return isChained ? node - 1 : (this.#parents[this.#chainOf(node)] ?? ROOT);
  }

  /** How many bytes lead from the root to the node. */
  depthOf(node: number): number {
    let depth = 0;
    for (let at = node; at !== ROOT;) {
      const chain = this.#chainOf(at);
      depth += at - (this.#chains[chain] ?? 0) + 1;
      at = this.#parents[chain] ?? ROOT;
    }
    return depth;
  }

  /** Every node but the root, in the order of their depths. */
  *byDepth(): Generator<void, Int32Array> {
    const depths = new Int32Array(this.#size);
    const places: number[] = [0, 0];
    for (let node = 1, chain = 0; node < this.#size; node += 1) {
      const isFirst = this.#chains[chain] === node;
      const depth = (depths[isFirst ? (this.#parents[chain] ?? 0) : node - 1] ?? 0) + 1;
      depths[node] = depth;
      places[depth + 1] = (places[depth + 1] ?? 0) + 1;
      if (isFirst) chain += 1;
      if (node % STEP_NODES === 0) yield;
    }
    for (let depth = 1; depth < places.length; depth += 1) {
      places[depth] = (places[depth] ?? 0) + (places[depth - 1] ?? 0);
    }
    const order = new Int32Array(this.#size - 1);
    for (let node = 1; node < this.#size; node += 1) {
      const depth = depths[node] ?? 0;
      const place = places[depth] ?? 0;
      order[place] = node;
      places[depth] = place + 1;
      if (node % STEP_NODES === 0) yield;
    }
    return order;
  }

  /** What it takes of memory, in bytes. */
  get byteLength(): number {
    return this.#tables.reduce((sum, table) => sum + table.byteLength, 0);
  }

  /** No byte is left; the root has no children any more. */
  forget(): void {
    for (const table of this.#tables) table.fill(0);
    this.#edgeKeys.fill(-1);
    this.#chainCount = 0;
  }

  get #tables(): readonly (Uint16Array | Int32Array)[] {
    return [this.#labels, this.#first, this.#edgeKeys, this.#edgeNodes, this.#chains, this.#parents];
  }

  #add(node: number, byte: number): number {
    const next = this.#size;
    this.#size += 1;
    if (node !== ROOT && next === node + 1) {
      this.#labels[next] = CHAINED | byte;
      return next;
    }
    this.#labels[next] = byte;
    this.#chains[this.#chainCount] = next;
    this.#parents[this.#chainCount] = node;
    this.#chainCount += 1;
    if (node === ROOT) {
      this.#first[byte] = next;
    } else {
      this.#labels[node] = (this.#labels[node] ?? 0) | BRANCHING;
      this.#addEdge(node, byte, next);
    }
    return next;
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
      if (found === key) return this.#edgeNodes[at] ?? ROOT;
      if (found === -1) return ROOT;
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
  let mixed = imul(key ^ (key >>> 16), 0x85ebca6b);
  mixed = imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
