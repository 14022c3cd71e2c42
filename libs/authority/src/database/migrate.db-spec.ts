import { randomBytes } from 'node:crypto';
import { useDatabase } from '../../../../test/support/postgres.js';
import { migrate, revertMigrations } from './migrate.js';
import { MIGRATIONS } from './migrations/index.js';

const database = useDatabase({ migrated: false });

/** Everything the schema consists of, as the catalogue tells it, but for the list of what was migrated. */
async function describeSchema(): Promise<string[]> {
  const rows = await database().query<{ line: string }>(`
    SELECT format('%s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default) AS line
      FROM information_schema.columns WHERE table_schema = 'valise'
    UNION ALL
    SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(pg_constraint.oid))
      FROM pg_constraint WHERE connamespace = 'valise'::regnamespace
    UNION ALL SELECT tablename || ' ' || indexdef FROM pg_indexes WHERE schemaname = 'valise'
    UNION ALL
    SELECT format('%s %s', proname, proacl) FROM pg_proc WHERE pronamespace = 'valise'::regnamespace
    UNION ALL
    SELECT format('%s %s %s', relname, relacl, relowner::regrole) FROM pg_class
     WHERE relnamespace = 'valise'::regnamespace AND relkind <> 'i'
    ORDER BY 1`);
  return rows.map(({ line }) => line).filter((line) => !line.startsWith('schema_migrations'));
}

describe('the migrations', () => {
  it('make the same schema up, and up again after down', async () => {
    expect(await migrate(database().adminUrl)).toHaveLength(MIGRATIONS.length);
    const first = await describeSchema();
    await revertMigrations(database().adminUrl);
    expect(await describeSchema()).toEqual([]);
    await migrate(database().adminUrl);
    expect(await describeSchema()).toEqual(first);
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
