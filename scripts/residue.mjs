/**
 * Delivers canaries through a real control, in every way a client may behave, and looks for them in its memory one second
 * after the last delivery. Needs Linux, and root or the same user.
 *
 *   npm run residue [-- --short] [--json]      --json: the last line is one JSON object
 */
import './node-version.mjs';

const { giveUp, prepare } = await import('./prepare.mjs');
const { readOptions } = await import('./options.mjs');

async function main() {
  const { short, json } = readOptions({ short: { type: 'boolean' }, json: { type: 'boolean' } });
  await prepare(['control']);
  const { load } = await import('./typescript.mjs');
  const { TestDatabase } = load('test/support/postgres.ts');
  const { FULL, measureResidue, SHORT } = load('test/residue/residue.ts');
  const database = await TestDatabase.create();
  try {
    const report = await measureResidue(database, short ? SHORT : FULL);
    const { deliveries, canaries, found, controlSeen, searchedBytes } = report;
    console.log(`${canaries} canaries, ${deliveries} deliveries, ${searchedBytes} bytes of memory searched`);
    for (const { canary, form, place } of found) console.log(`FOUND ${canary}, as ${form}, in ${place}`);
    console.log(`kept on purpose: seen as UTF-8 ${controlSeen.utf8}, as UTF-16 ${controlSeen.utf16}`);
    if (json) console.log(JSON.stringify(report));
    process.exitCode = found.length === 0 && controlSeen.utf8 && controlSeen.utf16 ? 0 : 1;
  } finally {
    await database.drop();
  }
}

main().catch(giveUp);
