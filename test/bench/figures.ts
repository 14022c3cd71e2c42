import type { Sample } from './load.js';

/** A figure over the rounds: its median, and the least and the most. */
export interface Figure {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export function figureOf(values: readonly number[]): Figure {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
  return { median, least: sorted[0] ?? NaN, most: sorted.at(-1) ?? NaN };
}

/** What one contestant did over all rounds. */
export interface Performance {
  readonly cpuMsPerRequest: Figure;
  readonly requestsPerSecond: Figure;
  readonly p50Ms: Figure;
  readonly p95Ms: Figure;
  readonly p99Ms: Figure;
  readonly peakResidentMiB: number;
}

export function performanceOf(samples: readonly Sample[]): Performance {
  const over = (read: (sample: Sample) => number): Figure => figureOf(samples.map(read));
  return {
    cpuMsPerRequest: over(({ cpuMsPerRequest }) => cpuMsPerRequest),
    requestsPerSecond: over(({ requestsPerSecond }) => requestsPerSecond),
    p50Ms: over(({ p50Ms }) => p50Ms),
    p95Ms: over(({ p95Ms }) => p95Ms),
    p99Ms: over(({ p99Ms }) => p99Ms),
    peakResidentMiB: Math.max(...samples.map(({ peakResidentMiB }) => peakResidentMiB)),
  };
}

/** One sample over the other, round by round: what disturbs a round disturbs both. */
export function ratioOf(
  samples: readonly Sample[],
  others: readonly Sample[],
  read: (sample: Sample) => number,
): Figure {
  return figureOf(
    samples.map((sample, round) => {
      const other = others[round];
      return other ? read(sample) / read(other) : NaN;
    }),
  );
}
