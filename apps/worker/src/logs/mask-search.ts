import { offHeap } from '@valise/process';
import type { MaskAutomaton } from './mask-automaton.js';
import { MIN_MASKED_BYTES } from './mask-patterns.js';
import type { MaskSpans } from './mask-spans.js';

const LF = 0x0a;
const CR = 0x0d;

/** Automata on their way through a stream, as it is. Offsets are those of the stream. */
export class StreamSearch {
  readonly #nodes: number[];
  /** How many bytes the automata have read. */
  #read = 0;

  constructor(private readonly automata: readonly MaskAutomaton[]) {
    this.#nodes = automata.map(() => 0);
  }

  /** Covers what is found in the next bytes of the stream. */
  read(bytes: Uint8Array, spans: MaskSpans): void {
    const read = this.#read;
    for (const [index, automaton] of this.automata.entries()) {
      this.#nodes[index] = automaton.scan(this.#nodes[index] ?? 0, bytes, (end, length) => {
        spans.add(this.sourceOf(read + end - length), this.sourceOf(read + end - 1) + 1);
      });
    }
    this.#read += bytes.length;
  }

  /** The first byte that may still become part of a match. */
  get undecidedFrom(): number {
    return this.sourceOf(this.firstNeeded);
  }

  /** Where the beginning of what may be a value begins; null when it is too short to be told from other text. */
  get partialFrom(): number | null {
    const { depth } = this;
    return depth < MIN_MASKED_BYTES ? null : this.sourceOf(this.#read - depth);
  }

  /** The first byte read that a later match may take in. */
  protected get firstNeeded(): number {
    return this.#read - this.depth;
  }

  protected sourceOf(read: number): number {
    return read;
  }

  private get depth(): number {
    return this.automata.reduce(
      (deepest, automaton, index) => Math.max(deepest, automaton.depth(this.#nodes[index] ?? 0)),
      0,
    );
  }
}

/** From this byte on that was read, the bytes stand in the stream one after the other, beginning at `source`. */
interface Section {
  readonly read: number;
  readonly source: number;
}

/** Automata that read a stream without its line ends. */
export class UnbrokenSearch extends StreamSearch {
  #source = 0;
  #unbroken = 0;
  #sections: Section[] = [{ read: 0, source: 0 }];

  override read(bytes: Uint8Array, spans: MaskSpans): void {
    this.#dropSections();
    const text = this.#withoutLineEnds(bytes);
    super.read(text, spans);
    this.#unbroken += text.length;
    this.#source += bytes.length;
    text.fill(0);
  }

  /** The byte before an encoded value has bits of it. */
  protected override get firstNeeded(): number {
    return super.firstNeeded - 1;
  }

  protected override sourceOf(read: number): number {
    const sections = this.#sections;
    let [low, high] = [0, sections.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((sections[middle]?.read ?? 0) > read) high = middle - 1;
      else low = middle;
    }
    const { read: from, source } = sections[low] ?? { read: 0, source: 0 };
    return Math.max(0, source + read - from);
  }

  #withoutLineEnds(bytes: Uint8Array): Uint8Array {
    const text = offHeap(bytes.length);
    let length = 0;
    // The first byte may come after a line end of the bytes before.
    let isBroken = true;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte === LF || byte === CR) {
        isBroken = true;
        continue;
      }
      if (isBroken) this.#sections.push({ read: this.#unbroken + length, source: this.#source + at });
      isBroken = false;
      text[length] = byte;
      length += 1;
    }
    return text.subarray(0, length);
  }

  /** Nothing before what is needed is asked for any more. */
  #dropSections(): void {
    const { firstNeeded } = this;
    const at = this.#sections.findLastIndex(({ read }) => read <= firstNeeded);
    if (at > 0) this.#sections = this.#sections.slice(at);
  }
}
