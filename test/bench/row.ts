import { performanceOf, ratioOf, type Figure, type Performance } from './figures.js';
import type { LoadShape, Sample } from './load.js';

/** One load, done by Valise and by what it is compared with. */
export interface Row {
  readonly name: string;
  readonly connections: number;
  readonly keepAlive: boolean;
  readonly answerBytes: number;
  readonly valise: Performance;
  readonly other: Performance;
  /** Valise over the other, round by round. */
  readonly cpuRatio: Figure;
  readonly p99Ratio: Figure;
  readonly throughputRatio: Figure;
}

export function rowOf(
  name: string,
  { connections, keepAlive }: LoadShape,
  valise: readonly Sample[],
  other: readonly Sample[],
): Row {
  return {
    name,
    connections,
    keepAlive,
    answerBytes: valise[0]?.answerBytes ?? 0,
    valise: performanceOf(valise),
    other: performanceOf(other),
    cpuRatio: ratioOf(valise, other, ({ cpuMsPerRequest }) => cpuMsPerRequest),
    p99Ratio: ratioOf(valise, other, ({ p99Ms }) => p99Ms),
    throughputRatio: ratioOf(valise, other, ({ requestsPerSecond }) => requestsPerSecond),
  };
}

/** What is said of a row once it is measured. */
export function lineOf({ name, connections, keepAlive, cpuRatio, p99Ratio }: Row): string {
  const how = keepAlive ? 'keep-alive' : 'a handshake each';
  return `${name}, ${connections} connections, ${how}: CPU ${cpuRatio.median.toFixed(2)} ×, p99 ${p99Ratio.median.toFixed(2)} ×`;
}
