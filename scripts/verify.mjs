/**
 * The long form of the tests of races, load and failover: the history check, query plans in large tables, promotion of a
 * standby under load, the crash matrix, hostile requests, hostile output, cut uploads, deadlines; and workers in containers,
 * where a Docker engine answers. The same seed makes the same attempts, not the same order of events.
 *
 *   npm run verify [-- --operations N] [--seed S]
 */
import './node-version.mjs';
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

const { giveUp, prepare, PROGRAMS, ROOT } = await import('./prepare.mjs');
const { integer, readOptions } = await import('./options.mjs');
const FOLDERS = [
  'test/history/',
  'test/load/',
  'test/failover/',
  'test/crash-matrix',
  'test/fuzz/',
  'test/logs/',
  'test/deadlines',
  'test/container/',
];
const MAX_OPERATIONS = 10_000_000;
const MAX_SEED = 2 ** 31 - 1;
const ATTEMPTS = 1_000_000;
const PROMOTIONS = 3;
const CRASHES = 20;
const REQUESTS = 50_000;
const CUTS = 6;
const OUTPUT_BYTES = 10_000_000_000;
const SILENCE_MS = 120_000;

function runSpecs(verification, results) {
  const jest = join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
  const args = ['--runInBand', '--json', `--outputFile=${results}`, ...FOLDERS];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [jest, ...args], {
      cwd: ROOT,
      env: { ...process.env, VALISE_VERIFY: JSON.stringify(verification) },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    // A terminal signals the child as well; a supervisor signals only us.
    process.on('SIGINT', () => undefined);
    process.on('SIGTERM', () => child.kill('SIGTERM'));
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
}

async function main() {
  const options = readOptions({ operations: { type: 'string', default: '20000' }, seed: { type: 'string' } });
  const operations = integer('--operations', options.operations, 2, MAX_OPERATIONS);
  const seed = integer('--seed', options.seed ?? String(randomInt(MAX_SEED)), 0, MAX_SEED);
  await prepare(PROGRAMS);
  console.log(`seed ${seed}, ${operations} operations`);
  const folder = mkdtempSync(join(tmpdir(), 'valise-verify-'));
  try {
    const report = join(folder, 'report.txt');
    const results = join(folder, 'results.json');
    writeFileSync(report, '');
    const code = await runSpecs(
      {
        operations,
        seed,
        attempts: ATTEMPTS,
        promotions: PROMOTIONS,
        crashes: CRASHES,
        requests: REQUESTS,
        cuts: CUTS,
        outputBytes: OUTPUT_BYTES,
        silenceMs: SILENCE_MS,
        longDeadlines: true,
        containers: true,
        report,
      },
      results,
    );
    console.log(readFileSync(report, 'utf8').trimEnd());
    const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites } = JSON.parse(
      readFileSync(results, 'utf8'),
    );
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    if (failed > 0) console.log(`Again: npm run verify -- --operations ${operations} --seed ${seed}`);
    console.log(`${numPassedTests} passed, ${failed} failed`);
    process.exitCode = code === 0 && failed === 0 && numPassedTests > 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

main().catch(giveUp);
