import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** As scripts/mutants.mjs reads them. */
interface Mutant {
  readonly rule: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly test: string;
}

const ROOT = join(__dirname, '..');
const DIRECTORY = join(__dirname, 'mutants');

const read = (list: string): Mutant[] => JSON.parse(readFileSync(join(DIRECTORY, list), 'utf8')) as Mutant[];

/** Whether the bug can be planted, and a test be asked for it. */
function fits({ file, from, to, test }: Mutant): boolean {
  const path = join(ROOT, file);
  return (
    existsSync(join(ROOT, test)) &&
    existsSync(path) &&
    readFileSync(path, 'utf8').split(from).length === 2 &&
    from !== to
  );
}

describe('the mutants', () => {
  it.each(readdirSync(DIRECTORY))('of %s each change what stands exactly once in a file', (list) => {
    const mutants = read(list);
    expect(mutants.length).toBeGreaterThan(0);
    expect(mutants.filter((mutant) => !fits(mutant)).map(({ rule }) => rule)).toEqual([]);
  });
});
