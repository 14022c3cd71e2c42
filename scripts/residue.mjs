/**
 * Delivers canaries through a real control, in every way a client may behave, and has tasks run with others on a real
 * worker; looks for them in the memory of each, one second after the last delivery or the task's end. Needs Linux, and root
 * or the same user.
 *
 *   npm run residue [-- --short] [--only control|worker] [--json]      --json: the last line is one JSON object
 */
import './node-version.mjs';

const { giveUp, Obstacle, prepare } = await import('./prepare.mjs');
const { readOptions } = await import('./options.mjs');
const PROGRAMS = ['control', 'worker'];

async function main() {
  const { short, only, json } = readOptions({
    short: { type: 'boolean' },
    only: { type: 'string' },
    json: { type: 'boolean' },
  });
  if (only !== undefined && !PROGRAMS.includes(only))
    throw new Obstacle(`--only is ${PROGRAMS.join(' or ')}.`);
  await prepare(PROGRAMS);
  const { load } = await import('./typescript.mjs');
  const { TestDatabase } = load('test/support/postgres.ts');
  const { FULL_CONTROL, measureControlResidue, SHORT_CONTROL } = load('test/residue/control-residue.ts');
  const { FULL_WORKER, measureWorkerResidue, SHORT_WORKER } = load('test/residue/worker-residue.ts');
  const measures = {
    control: (database) => measureControlResidue(database, short ? SHORT_CONTROL : FULL_CONTROL),
    worker: (database) => measureWorkerResidue(database, short ? SHORT_WORKER : FULL_WORKER),
  };
  const reports = {};
  for (const program of PROGRAMS.filter((program) => only === undefined || only === program)) {
    const database = await TestDatabase.create();
    try {
      reports[program] = await measures[program](database);
    } finally {
      await database.drop();
    }
    tell(program, reports[program]);
  }
  const found = Object.values(reports).flatMap((report) => report.found);
  if (json) console.log(JSON.stringify({ found, ...reports }));
  process.exitCode = found.length === 0 && Object.values(reports).every(isSearchedWell) ? 0 : 1;
}

function tell(program, report) {
  const { deliveries, tasks, seenWhileRunning, canaries, found, decoySeen, searchedBytes } = report;
  const work = tasks === undefined ? `${deliveries} deliveries` : `${tasks} tasks`;
  console.log(`${program}: ${canaries} canaries, ${work}, ${searchedBytes} bytes of memory searched`);
  for (const { canary, form, place } of found) console.log(`FOUND ${canary}, as ${form}, in ${place}`);
  console.log(`kept on purpose: seen as UTF-8 ${decoySeen.utf8}, as UTF-16 ${decoySeen.utf16}`);
  if (tasks !== undefined) console.log(`seen while the task ran: ${seenWhileRunning} of ${tasks}`);
}

/** What the program holds on purpose was seen. */
function isSearchedWell({ decoySeen, tasks, seenWhileRunning }) {
  return decoySeen.utf8 && decoySeen.utf16 && tasks === seenWhileRunning;
}

main().catch(giveUp);
