import { readFileSync } from 'node:fs';
import { ValiseError } from '@valise/contracts/failure';
import { decode, matches, shown } from './encoding.js';
import { KINDS } from './kinds.js';

/** One case of wire.md §9. */
interface Vector {
  readonly id: string;
  readonly kind: string;
  readonly note?: string;
  readonly input: unknown;
  readonly expected: unknown;
}

interface Tally {
  passed: number;
  failed: number;
}

/**
 * Runs every case of the files and writes one line per failure, one per kind, and last `N passed, N failed`. A failure
 * names id, expected and actual; large values are cut. A file that cannot be read and an unknown kind are failures.
 * @returns the exit code: 0 when nothing failed and at least one case ran
 */
export function runVectors(files: string[], write: (line: string) => void): number {
  const tallies = new Map<string, Tally>();
  for (const file of files) {
    for (const vector of readVectors(file)) {
      const tally = tallies.get(vector.kind) ?? { passed: 0, failed: 0 };
      tallies.set(vector.kind, tally);
      const failure = judge(vector);
      if (failure === null) tally.passed++;
      else {
        tally.failed++;
        write(`FAILED ${vector.id}: ${failure}`);
      }
    }
  }
  for (const [kind, tally] of tallies) write(`${kind}: ${summary(tally)}`);
  const total = { passed: 0, failed: 0 };
  for (const { passed, failed } of tallies.values()) {
    total.passed += passed;
    total.failed += failed;
  }
  write(summary(total));
  return total.failed === 0 && total.passed > 0 ? 0 : 1;
}

const summary = ({ passed, failed }: Tally): string => `${passed} passed, ${failed} failed`;

/** Cases keep lone surrogates and own `__proto__` keys, which the strict parser of the product would refuse. */
function readVectors(file: string): Vector[] {
  try {
    const cases: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (Array.isArray(cases) && cases.every(isVector)) return cases;
  } catch {
    return [unreadable(file)];
  }
  return [unreadable(file)];
}

const unreadable = (file: string): Vector => ({
  id: file,
  kind: 'unreadable file',
  input: null,
  expected: 'a JSON list of cases {id, kind, input, expected}',
});

function isVector(value: unknown): value is Vector {
  if (typeof value !== 'object' || value === null) return false;
  const { id, kind } = value as Partial<Vector>;
  return typeof id === 'string' && typeof kind === 'string' && 'input' in value && 'expected' in value;
}

/** Why the case fails, or null. */
function judge({ kind, input, expected }: Vector): string | null {
  const run = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (!run) return 'unknown kind';
  const code = expectedCode(expected);
  try {
    const actual = run(decode(input) as never);
    if (code === null && matches(actual, expected)) return null;
    return `expected ${shown(expected)}, actual ${shown(actual)}`;
  } catch (error) {
    const actual = error instanceof ValiseError ? error.code : `${String(error)} (no typed refusal)`;
    if (error instanceof ValiseError && (code === '*' || code === error.code)) return null;
    return `expected ${shown(expected)}, actual error ${actual}`;
  }
}

function expectedCode(expected: unknown): string | null {
  if (typeof expected !== 'object' || expected === null || !Object.hasOwn(expected, 'error')) return null;
  return String((expected as { error: unknown }).error);
}
