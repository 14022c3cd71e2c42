import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { migrate, type ProcessRole } from '@valise/authority';
import { type PostgresServer, startServer } from './postgres-server.js';
import { allowLogins, urlAs } from './role-logins.js';

const SEARCH_PATH = '-c search_path=valise,public';
const ABANDONED_AFTER_MS = 3_600_000;

export interface DatabaseOptions {
  /** False leaves the database empty. Default true: migrated, the process roles may log in. */
  readonly migrated?: boolean;
}

/** One suite's own database. */
export class TestDatabase {
  private constructor(
    private readonly server: PostgresServer,
    private readonly name: string,
    private readonly administrator: Client,
  ) {}

  static async create(options: DatabaseOptions = {}): Promise<TestDatabase> {
    const server = await startServer();
    try {
      const name = `valise_test_${Date.now()}_${randomBytes(4).toString('hex')}`;
      await asAdministrator(server.url, async (client) => {
        await dropAbandoned(client);
        await client.query(`CREATE DATABASE ${name}`);
      });
      const administrator = new Client({
        connectionString: withDatabase(server.url, name),
        options: SEARCH_PATH,
      });
      administrator.on('error', () => undefined);
      await administrator.connect();
      const database = new TestDatabase(server, name, administrator);
      if (options.migrated !== false) {
        await migrate(database.adminUrl);
        await asAdministrator(server.url, allowLogins);
      }
      return database;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  /** As an administrator of the suite's database. */
  get adminUrl(): string {
    return withDatabase(this.server.url, this.name);
  }

  /** Where PostgreSQL keeps its files, if they are on this machine. */
  get dataDirectory(): string | null {
    return this.server.dataDirectory;
  }

  /** As one of the product's roles. */
  url(role: ProcessRole): string {
    return urlAs(role, this.adminUrl);
  }

  /** Runs a statement as administrator, to arrange or to look. */
  async query<Row extends object>(statement: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    const result = await this.administrator.query<Row>(statement, [...parameters]);
    return result.rows;
  }

  /** Another transaction, which has what the statement took; calling the answer ends it, as if it had never been. */
  async hold(statement: string, parameters: readonly unknown[] = []): Promise<() => Promise<void>> {
    const client = new Client({ connectionString: this.adminUrl, options: SEARCH_PATH });
    client.on('error', () => undefined);
    await client.connect();
    await client.query('BEGIN');
    await client.query(statement, [...parameters]);
    return () => client.end();
  }

  async drop(): Promise<void> {
    await this.administrator.end();
    try {
      await asAdministrator(this.server.url, (client) =>
        client.query(`DROP DATABASE IF EXISTS ${this.name} WITH (FORCE)`),
      );
    } finally {
      await this.server.stop();
    }
  }
}

/** Gives the suite a database before its tests and drops it after them. */
export function useDatabase(options: DatabaseOptions = {}): () => TestDatabase {
  let database: TestDatabase | undefined;
  beforeAll(async () => {
    database = await TestDatabase.create(options);
  }, 120_000);
  afterAll(async () => {
    await database?.drop();
  }, 60_000);
  return () => {
    if (!database) throw new Error('the database exists while tests run');
    return database;
  };
}

async function asAdministrator(url: string, act: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await act(client);
  } finally {
    await client.end();
  }
}

/** A run that was killed could not drop its databases. */
async function dropAbandoned(client: Client): Promise<void> {
  const { rows } = await client.query<{ datname: string }>(
    `SELECT datname FROM pg_database WHERE datname ~ '^valise_test_[0-9]+_[0-9a-f]+$'
        AND split_part(datname, '_', 3)::bigint < $1`,
    [Date.now() - ABANDONED_AFTER_MS],
  );
  for (const { datname } of rows) await client.query(`DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`);
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}
