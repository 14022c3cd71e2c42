/** A run of bytes to be covered, as offsets in the stream. */
interface Run {
  readonly start: number;
  readonly end: number;
}

/** Covered runs in their order, joined where they meet. */
export class Runs {
  readonly #runs: Run[] = [];

  get first(): Run | undefined {
    return this.#runs[0];
  }

  dropFirst(): void {
    this.#runs.shift();
  }

  add(start: number, end: number): void {
    const from = this.#firstThatEndsAt(start);
    let after = from;
    let run = { start, end };
    for (let next = this.#runs[after]; next && next.start <= end; next = this.#runs[after]) {
      run = { start: Math.min(run.start, next.start), end: Math.max(run.end, next.end) };
      after += 1;
    }
    this.#runs.splice(from, after - from, run);
  }

  /** The place of the first run that ends at `offset` or later. */
  #firstThatEndsAt(offset: number): number {
    let low = 0;
    let high = this.#runs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#runs[middle]?.end ?? 0) >= offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
