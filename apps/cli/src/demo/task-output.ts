import type { Pattern } from './needles.js';
import { PatternMatcher } from './pattern-matcher.js';

/** What a task printed, masked, as control keeps it: the only text that may hold a *name*, since the task wrote it. */
export class TaskOutput {
  readonly #surroundings = new Map<Pattern, { before: Buffer; after: Buffer }[]>();

  constructor(
    log: Buffer,
    patterns: readonly Pattern[],
    /** Surroundings that are compared, on each side. */
    private readonly contextBytes = 8,
  ) {
    new PatternMatcher(patterns).match(log, 0, log.length, (pattern, at) => {
      const end = at + pattern.bytes.length;
      const here = {
        before: log.subarray(Math.max(0, at - this.contextBytes), at),
        after: log.subarray(end, end + this.contextBytes),
      };
      const known = this.#surroundings.get(pattern);
      if (known) known.push(here);
      else this.#surroundings.set(pattern, [here]);
    });
  }

  /** How many different needles of a kind the task printed. */
  count(kind: 'name' | 'value'): number {
    const needles = [...this.#surroundings.keys()].map(({ needle }) => needle);
    return new Set(needles.filter((needle) => needle.kind === kind)).size;
  }

  /**
   * Whether an occurrence elsewhere is this output, stored: what stands around it is what stands around it in the
   * output. One side is enough where it is long enough, because storage cuts long text into pieces. A value is never
   * explained.
   */
  explains(pattern: Pattern, before: Buffer, after: Buffer): boolean {
    if (pattern.needle.kind === 'value') return false;
    return (this.#surroundings.get(pattern) ?? []).some((place) => {
      const left = before.subarray(Math.max(0, before.length - place.before.length)).equals(place.before);
      const right = after.subarray(0, place.after.length).equals(place.after);
      const long = Math.ceil(this.contextBytes / 2);
      return (
        (left && right) || (left && place.before.length >= long) || (right && place.after.length >= long)
      );
    });
  }
}
