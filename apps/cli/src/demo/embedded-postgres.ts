import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../refusal.js';
import { assertOwnName, canEnter, postgresAccount, type Account } from './account.js';
import { postgresBinaries } from './postgres-binaries.js';

export interface EmbeddedPostgresOptions {
  /** Private to this server; made if missing. Holds `data`, `postgres.log` and, where needed, a copy of the programs. */
  readonly directory: string;
  /** A directory filled by `initialiseTemplate` (and stopped): its cluster is copied instead of made anew. */
  readonly template?: string;
  /** False trades crash safety for speed (tests). Default true: PostgreSQL's own durability. */
  readonly durable?: boolean;
  /** Further settings of the server, by their names in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface EmbeddedPostgres {
  /** Of the superuser `postgres`, with its random password. */
  readonly url: string;
  readonly port: number;
  readonly dataDirectory: string;
  readonly logFile: string;
  /** Process id of the server, for a watchdog. */
  readonly pid: number;
  /** Ends every connection and the server; true afterwards: no process of it is left. May be called twice. */
  stop(): Promise<void>;
}

const PASSWORD_FILE = 'superuser-password';
const START_DEADLINE_MS = 30_000;
const STOP_DEADLINE_MS = 10_000;

/**
 * Makes a cluster in `directory`, to be copied by `startEmbeddedPostgres({ template })`. Its password stays there in a
 * file, so this is for tests; the demo starts without a template and its password is never in a file.
 */
export async function initialiseTemplate(directory: string): Promise<void> {
  const account = postgresAccount();
  prepareDirectory(directory, account);
  const password = newPassword();
  await initialise(directory, account, password, false);
  writeFileSync(join(directory, PASSWORD_FILE), password, { mode: 0o600 });
}

/**
 * Starts a PostgreSQL of our own on a free port of 127.0.0.1, with password authentication and without a unix socket.
 * It ends with the process that started it, however that ends (SIGKILL included).
 * @throws Refusal when the programs are missing or the directory cannot be used.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { directory, template, durable = true } = options;
  const account = postgresAccount();
  prepareDirectory(directory, account);
  const password = await provideCluster(directory, template, account, durable);
  const binaries = postgresBinaries(template ?? directory, account);
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const server = await launch(binaries, directory, account, settingsOf(options, durable, port));
    if (server) {
      return {
        url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
        port,
        dataDirectory: join(directory, 'data'),
        logFile: join(directory, 'postgres.log'),
        ...server,
      };
    }
    // Another program may have taken the port between our look and PostgreSQL's listen.
    if (attempt === 3)
      throw new Refusal(`PostgreSQL did not start; its log says why: ${join(directory, 'postgres.log')}`);
  }
}

function prepareDirectory(directory: string, account: Account | null): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (account) chownSync(directory, account.uid, account.gid);
  if (!canEnter(directory, account)) {
    throw new Refusal(
      `PostgreSQL runs unprivileged (uid ${account?.uid ?? 0}) and may not enter ${directory}.`,
    );
  }
}

/** Sees to it that `directory` has a cluster, and gives its superuser's password. */
async function provideCluster(
  directory: string,
  template: string | undefined,
  account: Account | null,
  durable: boolean,
): Promise<string> {
  const kept = join(directory, PASSWORD_FILE);
  if (existsSync(kept)) return readFileSync(kept, 'utf8');
  if (template === undefined) {
    const password = newPassword();
    await initialise(directory, account, password, durable);
    return password;
  }
  await run('cp', ['-a', join(template, 'data'), join(directory, 'data')], null);
  return readFileSync(join(template, PASSWORD_FILE), 'utf8');
}

async function initialise(
  directory: string,
  account: Account | null,
  password: string,
  durable: boolean,
): Promise<void> {
  if (!account) assertOwnName();
  const passwordFile = join(directory, 'initdb-password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (account) chownSync(passwordFile, account.uid, account.gid);
  try {
    await run(
      join(postgresBinaries(directory, account), 'bin', 'initdb'),
      [
        ...['--pgdata', join(directory, 'data'), '--username', 'postgres', '--auth', 'scram-sha-256'],
        ...['--pwfile', passwordFile, '--encoding', 'UTF8', '--no-locale', '--no-instructions'],
        ...(durable ? [] : ['--no-sync']),
      ],
      account,
    );
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

function settingsOf(options: EmbeddedPostgresOptions, durable: boolean, port: number): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    // A socket's path may have 107 bytes only, and a private directory is easily deeper.
    unix_socket_directories: '',
    lc_messages: 'C',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    ...options.settings,
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Starts the server and waits until it takes connections; null when it ended before. */
async function launch(
  binaries: string,
  directory: string,
  account: Account | null,
  settings: string[],
): Promise<{ pid: number; stop(): Promise<void> } | null> {
  const guard = startGuard(account);
  const log = openSync(join(directory, 'postgres.log'), 'a', 0o600);
  const data = join(directory, 'data');
  const server = spawn(join(binaries, 'bin', 'postgres'), ['-D', data, ...settings], {
    ...account,
    env: environment(),
    stdio: ['ignore', log, log],
    // Its own session: Ctrl-C in our terminal is ours to handle, in order.
    detached: true,
  });
  closeSync(log);
  const ended = new Promise<void>((resolve) => {
    server.once('error', () => {
      resolve();
    });
    server.once('exit', () => {
      resolve();
    });
  }).then(() => guard.kill('SIGKILL'));
  const pid = server.pid;
  if (pid === undefined) return ended.then(() => null);
  guard.stdin.write(`${pid}\n`);

  const stop = async (): Promise<void> => {
    server.kill('SIGINT');
    const force = setTimeout(() => server.kill('SIGQUIT'), STOP_DEADLINE_MS);
    await ended;
    clearTimeout(force);
  };
  const deadline = Date.now() + START_DEADLINE_MS;
  while (!isReady(data, pid)) {
    if (server.exitCode !== null || server.signalCode !== null) return ended.then(() => null);
    if (Date.now() > deadline) return stop().then(() => null);
    await delay(10);
  }
  return { pid, stop };
}

/** The server itself says so in the eighth line of `postmaster.pid`; pg_ctl waits for the same, of a standby too. */
function isReady(dataDirectory: string, pid: number): boolean {
  const file = join(dataDirectory, 'postmaster.pid');
  if (!existsSync(file)) return false;
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines[0] === String(pid) && /^(ready|standby)\s*$/.test(lines[7] ?? '');
}

/**
 * A shell that holds a pipe of ours: when we are gone, the pipe ends and it ends the server whose id it was told.
 * PostgreSQL's SIGQUIT takes its children along.
 */
function startGuard(account: Account | null): ChildProcessByStdio<Writable, null, null> {
  const script = 'read -r pid || exit; read -r _; kill -QUIT "$pid"; sleep 5; kill -KILL "$pid"';
  const guard = spawn('/bin/sh', ['-c', script], {
    ...account,
    env: environment(),
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.on('error', () => undefined);
  guard.stdin.on('error', () => undefined);
  return guard;
}

/** Runs a program to its end. @throws Refusal with the last line it wrote. */
function run(program: string, args: string[], account: Account | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...account,
      env: environment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4096)));
    child.once('error', (error: NodeJS.ErrnoException) => {
      reject(new Refusal(`${program} could not be started (${error.code ?? 'unknown'}).`));
    });
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Refusal(`${program} failed: ${said.trim().split('\n').at(-1) ?? ''}`));
    });
  });
}

/** Nothing of ours is inherited: PG… variables would change what the programs do. */
function environment(): Record<string, string> {
  return { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}

/** URL-safe as it is, so that no part of a URL needs escaping. */
function newPassword(): string {
  return randomBytes(24).toString('hex');
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => {
        resolve(port);
      });
    });
  });
}
