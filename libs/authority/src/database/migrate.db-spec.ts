import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { useDatabase } from '../../../../test/support/postgres.js';
import { describeSchema } from '../../spec/schema.js';
import { migrate, revertMigrations } from './migrate.js';
import { MIGRATIONS } from './migrations/index.js';

const database = useDatabase({ migrated: false });

const SCHEMA = join(__dirname, '../../../../docs/reference/schema.sql');
const schema = (): Promise<string> => describeSchema((statement) => database().query(statement));

describe('the migrations', () => {
  it('make the same schema up, and up again after down', async () => {
    expect(await migrate(database().adminUrl)).toHaveLength(MIGRATIONS.length);
    const first = await schema();
    await revertMigrations(database().adminUrl);
    expect(await schema()).toBe('');
    await migrate(database().adminUrl);
    expect(await schema()).toBe(first);
  });

  it('make the schema that docs/reference/schema.sql shows (npm run schema writes it)', async () => {
    await migrate(database().adminUrl);
    expect(await schema()).toBe(readFileSync(SCHEMA, 'utf8'));
  });

  it('have nothing to do the second time', async () => {
    expect(await migrate(database().adminUrl)).toEqual([]);
  });

  it('run once when two administrators start them at the same moment', async () => {
    await revertMigrations(database().adminUrl);
    const both = await Promise.all([migrate(database().adminUrl), migrate(database().adminUrl)]);
    expect(both.map((done) => done.length).sort()).toEqual([0, MIGRATIONS.length]);
  });

  it('leave nothing that belongs to another role than the owner', async () => {
    const rows = await database().query(
      `SELECT relname FROM pg_class
        WHERE relnamespace = 'valise'::regnamespace AND relowner <> 'valise_migration'::regrole`,
    );
    expect(rows).toEqual([]);
  });

  it('name every constraint and index by its kind', async () => {
    const rows = await database().query(`
      SELECT conname FROM pg_constraint
       WHERE connamespace = 'valise'::regnamespace AND contype <> 'n' AND conname !~ '^(pk|fk|uq|ck)_'
         AND conrelid NOT IN (SELECT inhrelid FROM pg_inherits) AND conrelid <> 'valise.schema_migrations'::regclass
      UNION ALL
      SELECT indexname FROM pg_indexes
       WHERE schemaname = 'valise' AND indexname !~ '^(pk|uq|ix)_' AND tablename !~ '_[0-9]{4}_[0-9]{2}$'
         AND tablename <> 'schema_migrations'`);
    expect(rows).toEqual([]);
  });

  it('need no superuser: an owner of the database that may create roles will do', async () => {
    const plain = `plain_${randomBytes(4).toString('hex')}`;
    await database().query(`CREATE ROLE ${plain} LOGIN CREATEROLE PASSWORD 'plain'`);
    await database()
      .query(`GRANT valise_migration, valise_ingress, valise_operator, valise_sweeper, valise_retention
      TO ${plain} WITH ADMIN OPTION`);
    await database().query(`CREATE DATABASE ${plain} OWNER ${plain}`);
    const url = new URL(database().adminUrl);
    Object.assign(url, { username: plain, password: 'plain', pathname: `/${plain}` });
    try {
      expect(await migrate(url.href)).toHaveLength(MIGRATIONS.length);
    } finally {
      await database().query(`DROP DATABASE ${plain} WITH (FORCE)`);
      await database().query(`DROP ROLE ${plain}`);
    }
  });
});
