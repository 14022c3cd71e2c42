import { appendFileSync } from 'node:fs';

/** How much the tests of races, load, failover and hostile requests do. */
export interface Verification {
  /** Calls of a random history. */
  readonly operations: number;
  readonly seed: number;
  /** In the tables whose plans are looked at. */
  readonly attempts: number;
  /** Of a standby, under load. */
  readonly promotions: number;
  /** At each boundary of the crash matrix. */
  readonly crashes: number;
  /** Hostile ones, to a running control. */
  readonly requests: number;
  /** In the upload of a log. */
  readonly cuts: number;
  /** Of a task that writes too much. */
  readonly outputBytes: number;
  /** Of a task that is silent for long. */
  readonly silenceMs: number;
  /** Whether those of more than ten seconds are waited for. */
  readonly longDeadlines: boolean;
  /** Whether workers are run in containers. */
  readonly containers: boolean;
  /** A file for what was measured; null where nobody reads it. */
  readonly report: string | null;
}

const SHORT: Verification = {
  operations: 1600,
  seed: 4960204,
  attempts: 100,
  promotions: 1,
  crashes: 1,
  requests: 2500,
  cuts: 1,
  outputBytes: 40_000_000,
  silenceMs: 1000,
  longDeadlines: false,
  containers: false,
  report: null,
};

const asked = process.env.VALISE_VERIFY;

/** What `npm run verify` asks for; in `npm test` the short form, always with the same seed. */
export const verification: Verification =
  asked === undefined ? SHORT : { ...SHORT, ...(JSON.parse(asked) as Partial<Verification>) };

/** One line for the person who runs `npm run verify`. */
export function report(line: string): void {
  if (verification.report !== null) appendFileSync(verification.report, `${line}\n`);
}
