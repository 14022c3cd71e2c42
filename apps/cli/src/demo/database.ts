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

const ROLES = ['ingress', 'operator', 'sweeper'] as const;

/** A database of the demo's own on some PostgreSQL, and logins of the demo's own for the product's roles. */
export class DemoDatabase {
  readonly traces: DatabaseTraces;
  readonly url: string;

  private constructor(
    private readonly server: Client,
    serverUrl: string,
    readonly suffix: string,
  ) {
    const database = `valise_demo_${suffix}`;
    this.traces = { serverUrl, database, logins: ROLES.map((role) => `${database}_${role}`) };
    this.url = urlOf(serverUrl, { database });
  }

  /**
   * Creates the database. `serverUrl` is of an account that may create databases and roles.
   * @throws Refusal
   */
  static async create(serverUrl: string): Promise<DemoDatabase> {
    if (!/^postgres(?:ql)?:\/\/[^/]/.test(serverUrl) || !URL.canParse(serverUrl)) {
      throw new Refusal('--database-url must be postgres://USER:PASSWORD@HOST:PORT/DATABASE.', 2);
    }
    const server = await connect(serverUrl);
    const database = new DemoDatabase(server, serverUrl, randomBytes(4).toString('hex'));
    try {
      await server.query(`CREATE DATABASE ${database.traces.database}`);
    } catch (error) {
      await server.end();
      throw explained(error);
    }
    return database;
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

export async function removeTraces(server: Client, traces: DatabaseTraces): Promise<void> {
  await server.query(`DROP DATABASE IF EXISTS ${traces.database} WITH (FORCE)`);
  for (const login of traces.logins) await server.query(`DROP ROLE IF EXISTS ${login}`);
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
