/**
 * The properties of the contracts in as many cases as are asked for, shared out among them; the same seed, the same cases.
 *
 *   npm run fuzz [-- --cases N] [--seed S]
 */
import './node-version.mjs';
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

const { giveUp, prepare, ROOT } = await import('./prepare.mjs');
const { integer, readOptions } = await import('./options.mjs');
const PROPERTY = join(ROOT, 'libs', 'contracts', 'spec', 'property.ts');
const MAX_CASES = 10_000_000;
const MAX_SEED = 2 ** 31 - 1;

/** Runs the specs that check properties; their other tests are passed over. Answers jest's exit code. */
function runSpecs(fuzz) {
  const jest = join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
  const args = [
    '--selectProjects',
    'unit',
    '--silent',
    '--testTimeout',
    '86400000',
    '--findRelatedTests',
    PROPERTY,
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [jest, ...args], {
      cwd: ROOT,
      env: { ...process.env, VALISE_FUZZ: JSON.stringify(fuzz) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const said = [];
    child.stderr.on('data', (chunk) => said.push(chunk));
    process.on('SIGTERM', () => child.kill('SIGTERM'));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      resolve({ code: code ?? 128 + constants.signals[signal], said: Buffer.concat(said).toString() });
    });
  });
}

function readReport(path) {
  try {
    return readFileSync(path, 'utf8').trim().split('\n').map(JSON.parse);
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

async function main() {
  const options = readOptions({ cases: { type: 'string', default: '20000' }, seed: { type: 'string' } });
  const cases = integer('--cases', options.cases, 1, MAX_CASES);
  const seed = integer('--seed', options.seed ?? String(randomInt(MAX_SEED)), 0, MAX_SEED);
  await prepare([]);
  console.log(`seed ${seed}, ${cases} cases`);
  const folder = mkdtempSync(join(tmpdir(), 'valise-fuzz-'));
  const started = Date.now();
  try {
    const report = join(folder, 'report.jsonl');
    const { code, said } = await runSpecs({ cases, seed, report });
    const properties = readReport(report).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const { name, passed, failure } of properties) {
      console.log(`${name}: ${passed} passed, ${failure === null ? 0 : 1} failed`);
      if (failure !== null) console.log(`${failure}\nAgain: npm run fuzz -- --cases ${cases} --seed ${seed}`);
    }
    const passed = properties.reduce((sum, property) => sum + property.passed, 0);
    const failed = properties.filter(({ failure }) => failure !== null).length;
    // A spec that broke before its properties were checked has checked nothing.
    if (code !== 0 && failed === 0) console.log(said);
    console.log(`${((Date.now() - started) / 1000).toFixed(1)} s`);
    console.log(`${passed} passed, ${failed} failed`);
    process.exitCode = code === 0 && failed === 0 && passed === cases ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

main().catch(giveUp);
