import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { SCHEMA, serverOptions } from './data-source.js';
import { databaseFault } from './database-fault.js';
import { MIGRATIONS } from './migrations/index.js';
import { ensureRoles, OWNER_ROLE } from './roles.js';

/** Any number; whoever migrates this database holds it. */
const MIGRATION_LOCK = 4_960_201;

/**
 * Brings the database up to date: roles, schema, tables, grants. One migration runs at a time; a second caller waits
 * and finds nothing to do. `url` names an administrator of the database, who is used for nothing else.
 * @returns the names of the migrations that ran. @throws DatabaseFault
 */
export function migrate(url: string): Promise<readonly string[]> {
  return administer(url, async (administrator, owner) => {
    await ensureRoles(administrator);
    await owner.initialize();
    const done = await owner.runMigrations({ transaction: 'each' });
    return done.map(({ name }) => name);
  });
}

/** Takes every migration back, newest first. The roles stay: they belong to the cluster. @throws DatabaseFault */
export function revertMigrations(url: string): Promise<void> {
  return administer(url, async (_administrator, owner) => {
    await owner.initialize();
    for (let left = MIGRATIONS.length; left > 0; left -= 1) {
      await owner.undoLastMigration({ transaction: 'each' });
    }
  });
}

async function administer<T>(
  url: string,
  act: (administrator: Client, owner: DataSource) => Promise<T>,
): Promise<T> {
  const administrator = new Client({ connectionString: url, application_name: 'valise-migrate' });
  // A connection that breaks fails the statement in hand; without a listener it would end the process.
  administrator.on('error', () => undefined);
  const owner = new DataSource({
    type: 'postgres',
    url,
    applicationName: 'valise-migrate',
    schema: SCHEMA,
    poolSize: 1,
    installExtensions: false,
    logging: false,
    migrations: [...MIGRATIONS],
    migrationsTableName: 'schema_migrations',
    extra: { options: serverOptions({ role: OWNER_ROLE, search_path: SCHEMA }) },
    poolErrorHandler: () => undefined,
  });
  try {
    await administrator.connect();
    await administrator.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    return await act(administrator, owner);
  } catch (error) {
    throw databaseFault(error);
  } finally {
    if (owner.isInitialized) await owner.destroy();
    await administrator.end().catch(() => undefined);
  }
}
