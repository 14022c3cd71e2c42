import { lstatSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgreSqlContainer } from '@testcontainers/postgresql';
import { initialiseTemplate, startEmbeddedPostgres } from '../../apps/cli/src/demo/embedded-postgres.js';

/** A PostgreSQL server that a suite may use. */
export interface PostgresServer {
  /** An administrator's, to a database that is not ours. */
  readonly url: string;
  /** Where the server keeps its files, if they are on this machine. */
  readonly dataDirectory: string | null;
  stop(): Promise<void>;
}

const SERVER_PREFIX = 'valise-pg-server-';

/** The given server, else a container where an engine answers, else the embedded one. */
export async function startServer(): Promise<PostgresServer> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) return { url: given, dataDirectory: null, stop: () => Promise.resolve() };
  return (await dockerAnswers()) ? startContainer() : startEmbedded();
}

async function startContainer(): Promise<PostgresServer> {
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
async function startEmbedded(): Promise<PostgresServer> {
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
