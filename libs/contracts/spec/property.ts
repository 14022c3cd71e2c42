import { appendFileSync } from 'node:fs';
import fc, { type IProperty } from 'fast-check';

/** How many cases of each property `npm test` runs. `npm run fuzz` shares out its cases in the same proportion. */
const CASES = {
  'json/oracle': 1000,
  'json/strictness': 3000,
  'json/canary': 300,
  'order/icu': 3000,
  'order/total': 1000,
  'reference/identity': 500,
  'reference/mutation': 1500,
  'bundle/identity': 800,
  'bundle/order': 200,
  'bundle/mutation': 2000,
  'delivery/identity': 1000,
  'delivery/mutation': 1500,
  'log/identity': 300,
  'task/canonical': 200,
  'task/storage': 150,
  'task/mutation': 500,
  'revision/mutation': 500,
  'capabilities/identity': 300,
  'capabilities/mutation': 600,
  'body/identity': 1500,
  'body/mutation': 3000,
  'body/value': 1500,
} as const;

export type PropertyName = keyof typeof CASES;

/** What `npm run fuzz` asks for: so many cases in all, from this seed, one line per property in the report. */
interface Fuzz {
  readonly cases: number;
  readonly seed: number;
  readonly report: string;
}

const asked = process.env.VALISE_FUZZ;
const FUZZ = asked === undefined ? null : (JSON.parse(asked) as Fuzz);

/** The property holds in as many cases as are asked for. */
export function holds<Ts>(name: PropertyName, property: IProperty<Ts>): void {
  const numRuns = FUZZ ? shareOf(name, FUZZ.cases) : CASES[name];
  if (numRuns === 0) return;
  const details = fc.check(property, {
    numRuns,
    includeErrorInReport: true,
    ...(FUZZ && { seed: FUZZ.seed }),
  });
  const failure = details.failed ? fc.defaultReportMessage(details) : null;
  if (FUZZ) {
    const passed = details.failed ? details.numRuns - 1 : details.numRuns;
    appendFileSync(FUZZ.report, `${JSON.stringify({ name, passed, failure })}\n`);
  }
  if (failure !== null) throw new Error(failure);
}

/** Shares add up to exactly `cases`. */
function shareOf(name: PropertyName, cases: number): number {
  const all = Object.entries(CASES);
  const before = all.slice(
    0,
    all.findIndex(([each]) => each === name),
  );
  const sum = (list: readonly (readonly [string, number])[]): number =>
    list.reduce((total, [, weight]) => total + weight, 0);
  const upTo = (weight: number): number => Math.round((cases * weight) / sum(all));
  return upTo(sum(before) + CASES[name]) - upTo(sum(before));
}
