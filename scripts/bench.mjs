/**
 * Valise beside the least that does the same work (test/bench/floor.mjs), round by round in one run: CPU of the server per
 * delivery, throughput, latency. Then Valise over large tables, masking, and short tasks through a worker.
 *
 *   npm run bench [-- --full] [--rounds N] [--json]      --json: the last line is one JSON object
 */
import './node-version.mjs';

const { giveUp, prepare } = await import('./prepare.mjs');
const { integer, readOptions } = await import('./options.mjs');
const MAX_ROUNDS = 101;

async function main() {
  const { full, json, ...options } = readOptions({
    full: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  });
  const rounds = integer('--rounds', options.rounds, 5, MAX_ROUNDS);
  await prepare(['control', 'worker']);
  const { load } = await import('./typescript.mjs');
  const { runBench } = load('test/bench/bench.ts');
  const { toTables } = load('test/bench/tables.ts');
  const report = await runBench({ full, rounds, say: (line) => console.error(line) });
  console.log(toTables(report));
  if (json) console.log(JSON.stringify(report));
}

main().catch(giveUp);
