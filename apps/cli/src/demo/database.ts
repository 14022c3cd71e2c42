import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Client } from 'pg';
import { errnoOf, Refusal } from '../refusal.js';
import { writePrivateFile } from './private-file.js';

/** Files with the URLs that control's three roles log in with. */
export interface DatabaseUrlFiles {
  readonly ingress: string;
  readonly operator: string;
  readonly sweeper: string;
}

/** Enough to take a demo's traces out of a PostgreSQL that stays: what a watchdog has to know. */
export interface DatabaseTraces {
  readonly serverUrl: string;
  readonly database: string;
  readonly logins: readonly string[];
}

const TERMINATE_DEADLINE_MS = 5000;
const ROLES = ['ingress', 'operator', 'sweeper'] as const;

/** A database of the demo's own on some PostgreSQL, and logins of the demo's own for the product's roles. */
export class DemoDatabase {
  readonly traces: DatabaseTraces;
  readonly url: string;

  private constructor(
    private readonly server: Client,
    serverUrl: string,
    database: string,
  ) {
    this.traces = { serverUrl, database, logins: ROLES.map((role) => `${database}_${role}`) };
    this.url = urlOf(serverUrl, { database });
  }

  /**
   * A database that is still to be created, so that its traces can be told to a watchdog before. `serverUrl` is of an
   * account that may create databases and roles.
   * @throws Refusal
   */
  static async on(serverUrl: string): Promise<DemoDatabase> {
    if (!/^postgres(?:ql)?:\/\/[^/]/.test(serverUrl) || !URL.canParse(serverUrl)) {
      throw new Refusal('--database-url must be postgres://USER:PASSWORD@HOST:PORT/DATABASE.', 2);
    }
    const name = `valise_demo_${randomBytes(4).toString('hex')}`;
    const server = await connect(serverUrl);
    // By this name a watchdog finds what the connection is still doing.
    await server.query("SELECT set_config('application_name', $1, false)", [name]);
    return new DemoDatabase(server, serverUrl, name);
  }

  /** @throws Refusal */
  async create(): Promise<void> {
    try {
      await this.server.query(`CREATE DATABASE ${this.traces.database}`);
    } catch (error) {
      throw explained(error);
    }
  }

  /**
   * Gives each of the product's roles a login with a random password, and writes the URLs into `directory`. The roles
   * themselves belong to the whole server and are left as they are: somebody else may use them.
   */
  async createLogins(directory: string): Promise<DatabaseUrlFiles> {
    const files = new Map<string, string>();
    for (const role of ROLES) {
      const user = `${this.traces.database}_${role}`;
      const password = randomBytes(24).toString('hex');
      await this.server
        .query(`CREATE ROLE ${user} LOGIN PASSWORD '${password}' IN ROLE valise_${role}`)
        .catch((error: unknown) => {
          throw explained(error);
        });
      const url = urlOf(this.traces.serverUrl, { database: this.traces.database, user, password });
      files.set(role, writePrivateFile(join(directory, `${role}-database-url`), url).path);
    }
    const fileOf = (role: (typeof ROLES)[number]): string => files.get(role) ?? '';
    return { ingress: fileOf('ingress'), operator: fileOf('operator'), sweeper: fileOf('sweeper') };
  }

  /** A connection to the database itself, as the account that made it. */
  connect(): Promise<Client> {
    return connect(this.url);
  }

  /** Takes the database and its logins away again, and closes the connection. */
  async remove(): Promise<void> {
    try {
      await removeTraces(this.server, this.traces);
    } finally {
      await this.server.end();
    }
  }

  /** Closes the connection and leaves the database: its server is about to vanish as a whole. */
  close(): Promise<void> {
    return this.server.end();
  }
}

/** Afterwards neither the database nor its logins are there, nor a statement under way that would still create them. */
export async function removeTraces(server: Client, { database, logins }: DatabaseTraces): Promise<void> {
  await server.query(
    `SELECT pg_terminate_backend(pid, ${TERMINATE_DEADLINE_MS})
       FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()`,
    [database],
  );
  await server.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  const { rows } = await server.query<{ login: string }>(
    'SELECT rolname AS login FROM pg_roles WHERE rolname = ANY($1)',
    [logins],
  );
  for (const { login } of rows) await server.query(`DROP ROLE ${login}`);
}

/** @throws Refusal in plain words; the driver's own message may quote the URL */
export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  // A server that goes away tells every idle connection, and an error that nobody listens to ends the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    throw explained(error);
  }
}

function explained(error: unknown): Refusal {
  const code = errnoOf(error);
  switch (code ?? '') {
    case 'ECONNREFUSED':
    case 'ENOTFOUND':
    case 'EHOSTUNREACH':
      return new Refusal(`PostgreSQL does not answer at the address of its URL (${code}).`);
    case '28P01':
    case '28000':
      return new Refusal('PostgreSQL refuses the user or the password of its URL.');
    case '42501':
      return new Refusal('The account of --database-url may not create databases and roles.');
    default:
      return new Refusal(`PostgreSQL cannot be used for the demo (${code ?? 'no connection'}).`);
  }
}

function urlOf(serverUrl: string, part: { database: string; user?: string; password?: string }): string {
  const url = new URL(serverUrl);
  url.pathname = `/${part.database}`;
  if (part.user !== undefined) url.username = part.user;
  if (part.password !== undefined) url.password = part.password;
  return url.href;
}
