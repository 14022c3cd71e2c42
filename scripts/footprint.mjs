/**
 * What worker and control take on a machine, beside a bare Nest application context in the same run: code, memory, time to
 * start. Fails when the idle worker takes more memory than it may.
 *
 *   npm run footprint [-- --rounds N] [--json]      --json: the last line is one JSON object
 */
import './node-version.mjs';

const { giveUp, prepare } = await import('./prepare.mjs');
const { integer, readOptions } = await import('./options.mjs');
const MAX_ROUNDS = 101;

async function main() {
  const { json, ...options } = readOptions({
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  });
  const rounds = integer('--rounds', options.rounds, 1, MAX_ROUNDS);
  await prepare(['control', 'worker']);
  const { load } = await import('./typescript.mjs');
  const { MAX_RATIO, measureFootprint } = load('test/footprint/footprint.ts');
  const { toTable } = load('test/footprint/tables.ts');
  const report = await measureFootprint(rounds);
  console.log(toTable(report));
  if (json) console.log(JSON.stringify(report));
  process.exitCode = report.ratio.median <= MAX_RATIO ? 0 : 1;
}

main().catch(giveUp);
