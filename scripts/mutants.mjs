/**
 * Plants each bug of test/mutants/*.json in a scratch copy of the project, one at a time, and runs the test that must
 * notice it. A mutant that survives is a rule that nobody guards.
 *
 *   npm run mutants [-- --only TEXT]      TEXT is part of a rule, or of the name of the file it stands in
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { readOptions } from './options.mjs';
import { giveUp, Obstacle, prepare, PROGRAMS, ROOT } from './prepare.mjs';

const COPIED = [
  'apps',
  'libs',
  'test',
  'docs',
  'jest.config.mjs',
  'tsconfig.json',
  'nest-cli.json',
  'package.json',
];

/** `{rule, file, from, to, test}`: `from` stands exactly once in `file`; `test` is the spec that must fail. */
function readMutants() {
  const directory = join(ROOT, 'test', 'mutants');
  const files = readdirSync(directory).filter((name) => name.endsWith('.json'));
  return files.flatMap((name) =>
    JSON.parse(readFileSync(join(directory, name), 'utf8')).map((mutant) => ({ ...mutant, list: name })),
  );
}

const secondsSince = (startedMs) => `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;

function runSpec(scratch, spec) {
  const report = join(scratch, 'report.json');
  const jest = join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
  spawnSync(
    process.execPath,
    [
      jest,
      '--runInBand',
      '--silent',
      // A bug may leave something open that would keep jest waiting for ever.
      '--forceExit',
      '--testTimeout=30000',
      '--json',
      `--outputFile=${report}`,
      '--runTestsByPath',
      spec,
    ],
    {
      cwd: scratch,
      stdio: 'ignore',
    },
  );
  const result = JSON.parse(readFileSync(report, 'utf8'));
  rmSync(report);
  return result;
}

const runsPrograms = (test) => test.endsWith('.e2e-spec.ts');

/** End-to-end tests run what is built. Gives back how to restore it, or null when the mutant does not build. */
function rebuild(scratch, file, test) {
  if (!runsPrograms(test)) return () => undefined;
  const [, program] = /^apps\/(\w+)\//.exec(file) ?? [];
  const programs = program ? [program] : PROGRAMS;
  const nest = join(ROOT, 'node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
  const built = programs.every(
    (name) =>
      spawnSync(process.execPath, [nest, 'build', name], { cwd: scratch, stdio: 'ignore' }).status === 0,
  );
  const restore = () => {
    for (const name of programs) {
      rmSync(join(scratch, 'dist', name), { recursive: true, force: true });
      cpSync(join(scratch, 'dist-as-built', name), join(scratch, 'dist', name), { recursive: true });
    }
  };
  if (built) return restore;
  restore();
  return null;
}

function judge(scratch, { file, from, to, test }) {
  const path = join(scratch, file);
  const source = readFileSync(path, 'utf8');
  if (source.split(from).length !== 2) return 'its text does not stand exactly once in the file';
  writeFileSync(
    path,
    source.replace(from, () => to),
  );
  const restore = rebuild(scratch, file, test);
  const result = restore && runSpec(scratch, test);
  writeFileSync(path, source);
  if (!restore) return 'the mutant does not build';
  restore();
  // A suite that could not run has judged nothing.
  if (result.numRuntimeErrorTestSuites > 0) return 'the mutant does not run';
  return result.numFailedTests > 0 ? null : 'no test noticed';
}

async function main() {
  const startedMs = performance.now();
  const { only } = readOptions({ only: { type: 'string', default: '' } });
  const mutants = readMutants().filter(({ rule, list }) => rule.includes(only) || list.includes(only));
  if (mutants.length === 0) throw new Obstacle(`No rule and no file of mutants has “${only}” in its name.`);
  const isEndToEnd = mutants.some(({ test }) => runsPrograms(test));
  await prepare(isEndToEnd ? PROGRAMS : []);
  const scratch = mkdtempSync(join(tmpdir(), 'valise-mutants-'));
  let killed = 0;
  let survived = 0;
  try {
    const copied = isEndToEnd ? [...COPIED, 'dist'] : COPIED;
    for (const entry of copied) cpSync(join(ROOT, entry), join(scratch, entry), { recursive: true });
    if (isEndToEnd) cpSync(join(ROOT, 'dist'), join(scratch, 'dist-as-built'), { recursive: true });
    for (const entry of ['node_modules', 'scripts']) symlinkSync(join(ROOT, entry), join(scratch, entry));
    for (const spec of new Set(mutants.map(({ test }) => test))) {
      const { numFailedTests, numPassedTests, numRuntimeErrorTestSuites } = runSpec(scratch, spec);
      if (numFailedTests + numRuntimeErrorTestSuites > 0 || numPassedTests === 0)
        throw new Error(`${spec} is not green without a mutant`);
    }
    for (const mutant of mutants) {
      const startedMs = performance.now();
      const survival = judge(scratch, mutant);
      if (survival === null) killed += 1;
      else survived += 1;
      console.log(
        `${survival === null ? 'killed  ' : 'SURVIVED'} ${mutant.rule} (${relative('.', mutant.file)}, ${secondsSince(startedMs)})${survival ? `: ${survival}` : ''}`,
      );
    }
  } finally {
    rmSync(scratch, { recursive: true });
  }
  console.log(`in ${secondsSince(startedMs)}`);
  console.log(`${killed} passed, ${survived} failed`);
  process.exitCode = survived === 0 ? 0 : 1;
}

main().catch(giveUp);
