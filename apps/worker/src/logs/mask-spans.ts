/** Bytes to be covered, as offsets in the stream. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Covered spans in their order, joined where they meet. */
export class MaskSpans {
  readonly #spans: Span[] = [];

  get first(): Span | undefined {
    return this.#spans[0];
  }

  dropFirst(): void {
    this.#spans.shift();
  }

  add(start: number, end: number): void {
    const from = this.#firstThatEndsAt(start);
    let after = from;
    let span = { start, end };
    for (let next = this.#spans[after]; next && next.start <= end; next = this.#spans[after]) {
      span = { start: Math.min(span.start, next.start), end: Math.max(span.end, next.end) };
      after += 1;
    }
    this.#spans.splice(from, after - from, span);
  }

  /** The place of the first span that ends at `offset` or later. */
  #firstThatEndsAt(offset: number): number {
    let low = 0;
    let high = this.#spans.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#spans[middle]?.end ?? 0) >= offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
