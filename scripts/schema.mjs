/** docs/reference/schema.sql, as the migrations make it: `npm run schema` writes it, a test of libs/authority compares it. */
import './node-version.mjs';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const { giveUp, prepare, ROOT } = await import('./prepare.mjs');

async function main() {
  await prepare([]);
  const { load } = await import('./typescript.mjs');
  const { TestDatabase } = load('test/support/postgres.ts');
  const { describeSchema } = load('libs/authority/spec/schema.ts');
  const database = await TestDatabase.create();
  try {
    writeFileSync(
      join(ROOT, 'docs/reference/schema.sql'),
      await describeSchema((statement) => database.query(statement)),
    );
  } finally {
    await database.drop();
  }
}

main().catch(giveUp);
