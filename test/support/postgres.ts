import { randomBytes } from 'node:crypto';
import { lstatSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgreSqlContainer } from '@testcontainers/postgresql';
import { Client } from 'pg';
import { migrate, PROCESS_ROLES, type ProcessRole } from '@valise/authority';
import { initialiseTemplate, startEmbeddedPostgres } from '../../apps/cli/src/demo/embedded-postgres.js';

/** A PostgreSQL server that a suite may use. */
interface Server {
  /** An administrator's, to a database that is not ours. */
  readonly url: string;
  /** Where the server keeps its files, if they are on this machine. */
  readonly dataDirectory: string | null;
  stop(): Promise<void>;
}

export interface DatabaseOptions {
  /** False leaves the database empty. Default true: migrated, the process roles may log in. */
  readonly migrated?: boolean;
}

/** One suite's own database. */
export class TestDatabase {
  private constructor(
    private readonly server: Server,
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
        options: '-c search_path=valise,public',
      });
      administrator.on('error', () => undefined);
      await administrator.connect();
      const database = new TestDatabase(server, name, administrator);
      if (options.migrated !== false) {
        await migrate(database.adminUrl);
        await database.allowLogins();
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
    const url = new URL(this.adminUrl);
    url.username = role;
    url.password = ROLE_PASSWORD;
    return url.href;
  }

  /** Runs a statement as administrator, to arrange or to look. */
  async query<Row extends object>(statement: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    const result = await this.administrator.query<Row>(statement, [...parameters]);
    return result.rows;
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

  /** Roles belong to the cluster: another suite may be doing the same, with the same password. */
  private async allowLogins(): Promise<void> {
    await asAdministrator(this.server.url, async (client) => {
      await client.query('SELECT pg_advisory_lock(4960299)');
      for (const role of PROCESS_ROLES) {
        await client.query(`ALTER ROLE ${role} LOGIN PASSWORD '${ROLE_PASSWORD}'`);
      }
    });
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

const ROLE_PASSWORD = 'valise-test-role';
const SERVER_PREFIX = 'valise-pg-server-';
const ABANDONED_AFTER_MS = 3_600_000;

/** The given server, else a container where an engine answers, else the embedded one. */
async function startServer(): Promise<Server> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) return { url: given, dataDirectory: null, stop: () => Promise.resolve() };
  return (await dockerAnswers()) ? startContainer() : startEmbedded();
}

async function startContainer(): Promise<Server> {
  const container = await new PostgreSqlContainer(
    process.env.TEST_POSTGRES_IMAGE ?? 'postgres:18-alpine',
  ).start();
  return {
    url: container.getConnectionUri(),
    dataDirectory: null,
    stop: async () => {
      await container.stop();
    },
  };
}

/** A copy of a template cluster; it ends with this process, however that ends. */
async function startEmbedded(): Promise<Server> {
  const template = await provideTemplate();
  removeAbandoned();
  const directory = mkdtempSync(join(tmpdir(), `${SERVER_PREFIX}${process.pid}-`));
  const server = await startEmbeddedPostgres({ directory, template, durable: false });
  return {
    url: server.url,
    dataDirectory: server.dataDirectory,
    stop: async () => {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A run that was killed took its server along, but not the server's files. */
function removeAbandoned(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = name.startsWith(SERVER_PREFIX)
      ? Number(name.slice(SERVER_PREFIX.length).split('-')[0])
      : NaN;
    if (owner > 0 && !isAlive(owner)) rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** One empty cluster per user of this machine, made by whoever comes first. */
export async function provideTemplate(): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const template = join(tmpdir(), `valise-pg-template-18.4-${uid}`);
  if (isOurs(template, uid)) return template;
  const draft = mkdtempSync(join(tmpdir(), 'valise-pg-draft-'));
  await initialiseTemplate(draft);
  try {
    renameSync(draft, template);
  } catch {
    // Somebody else was faster.
    rmSync(draft, { recursive: true, force: true });
  }
  if (!isOurs(template, uid)) throw new Error('the PostgreSQL template is not ours');
  return template;
}

/** Only a directory that we, or the account PostgreSQL runs as for root, own: the temp directory is everybody's. */
function isOurs(directory: string, uid: number): boolean {
  const found = lstatSync(directory, { throwIfNoEntry: false });
  if (!found) return false;
  return found.isDirectory() && (found.uid === uid || uid === 0);
}

/** Whether a Docker engine answers where one would be looked for. */
async function dockerAnswers(): Promise<boolean> {
  const host = new URL(process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock');
  const socket =
    host.protocol === 'unix:'
      ? createConnection(host.pathname)
      : createConnection(Number(host.port || 2375), host.hostname);
  return new Promise((resolve) => {
    const answer = (yes: boolean): void => {
      socket.destroy();
      resolve(yes);
    };
    socket.setTimeout(2000, () => {
      answer(false);
    });
    socket.on('error', () => {
      answer(false);
    });
    socket.on('data', (bytes: Buffer) => {
      answer(bytes.toString('latin1').startsWith('HTTP/1.1 200'));
    });
    socket.write('GET /_ping HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n');
  });
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
