/**
 * Valise beside the least that does the same work (test/bench/floor.mjs), round by round in one run: CPU of the server per
 * delivery, throughput, latency.
 *
 *   npm run bench [-- --full] [--rounds N] [--json]      --json: the last line is one JSON object
 */
import './node-version.mjs';
import { parseArgs } from 'node:util';

const { giveUp, Obstacle, prepare } = await import('./prepare.mjs');
const MAX_ROUNDS = 101;

function readOptions() {
  const options = {
    full: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  };
  let values;
  try {
    ({ values } = parseArgs({ options }));
  } catch (error) {
    throw new Obstacle(error.message);
  }
  const rounds = /^\d+$/.test(values.rounds) ? Number(values.rounds) : NaN;
  if (!(rounds >= 5 && rounds <= MAX_ROUNDS))
    throw new Obstacle(`--rounds is an integer from 5 to ${MAX_ROUNDS}.`);
  return { ...values, rounds };
}

async function main() {
  const { full, rounds, json } = readOptions();
  await prepare(['control']);
  const { load } = await import('./typescript.mjs');
  const { runBench } = load('test/bench/bench.ts');
  const { toTables } = load('test/bench/tables.ts');
  const report = await runBench({ full, rounds, say: (line) => console.error(line) });
  console.log(toTables(report));
  if (json) console.log(JSON.stringify(report));
}

main().catch(giveUp);
