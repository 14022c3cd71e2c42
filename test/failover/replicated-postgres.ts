import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { migrate, type ProcessRole } from '@valise/authority';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../apps/cli/src/demo/embedded-postgres.js';
import { provideTemplate } from '../support/postgres-server.js';
import { allowLogins, urlAs } from '../support/role-logins.js';
import { until } from '../support/until.js';
import { Relay } from '../support/wire/relay.js';

const PASSWORD_FILE = 'superuser-password';
// Nothing is asked of the machine's disk: a crash of the machine is not what is played here.
const SETTINGS = { fsync: 'off', full_page_writes: 'on', synchronous_commit: 'remote_apply' };
const PATIENCE_MS = 30_000;
const PATIENCE = { deadlineMs: PATIENCE_MS, everyMs: 20 };

/** A primary, a standby that has applied whatever the primary has answered, and the address in front of them. */
export class ReplicatedPostgres {
  private restored: EmbeddedPostgres | null = null;

  private constructor(
    private readonly directory: string,
    private readonly primary: EmbeddedPostgres,
    private readonly standby: EmbeddedPostgres,
    /** As a virtual address or a proxy is in front of a cluster. */
    private readonly address: Relay,
  ) {}

  static async start(): Promise<ReplicatedPostgres> {
    const directory = mkdtempSync(join(tmpdir(), `valise-pg-server-${process.pid}-`));
    // The server's account walks through.
    chmodSync(directory, 0o711);
    const home = join(directory, 'primary');
    const template = await provideTemplate();
    const primary = await startEmbeddedPostgres({
      directory: home,
      template,
      durable: false,
      settings: SETTINGS,
    });
    try {
      await migrate(primary.url);
      await withClient(primary.url, allowLogins);
      const standby = await startStandby(directory, primary);
      await followed(primary);
      return new ReplicatedPostgres(directory, primary, standby, await Relay.open(primary));
    } catch (error) {
      await primary.stop();
      throw error;
    }
  }

  /** As one of the product's roles, at the address that stays. */
  url(role: ProcessRole): string {
    return urlAs(role, this.adminUrl);
  }

  get adminUrl(): string {
    const url = new URL(this.primary.url);
    url.port = String(this.address.port);
    return url.href;
  }

  /** Runs a statement as administrator, on whichever server takes it: what is asked of it may be done twice. */
  async query<Row extends object>(statement: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    let refusal: unknown;
    return until(
      'a server that takes the statement',
      () =>
        ask<Row>(this.adminUrl, statement, parameters).catch((error: unknown) => {
          refusal = error;
          return null;
        }),
      { ...PATIENCE, situation: () => String(refusal) },
    );
  }

  /** The primary is gone from one moment to the next; the address leads to the standby, which is read-only yet. */
  crash(): void {
    process.kill(this.primary.pid, 'SIGQUIT');
    this.address.pointTo(this.standby);
  }

  /** The standby is the primary. */
  async promote(): Promise<void> {
    await ask(this.standby.url, 'SELECT pg_promote(true, 30)');
  }

  /** A backup of this moment is kept. */
  async backUp(): Promise<void> {
    await ask(this.primary.url, 'CHECKPOINT');
    await backUp(this.primary, join(this.directory, 'backup'));
  }

  /** All servers are lost, and the address leads to what the backup was restored to. */
  async restore(): Promise<void> {
    process.kill(this.primary.pid, 'SIGQUIT');
    await this.standby.stop();
    this.restored = await startEmbeddedPostgres({
      directory: join(this.directory, 'backup'),
      durable: false,
      settings: { ...SETTINGS, synchronous_standby_names: '' },
    });
    this.address.pointTo(this.restored);
  }

  async stop(): Promise<void> {
    await this.address.close();
    await this.restored?.stop();
    await this.standby.stop();
    await this.primary.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** A copy of the running primary that goes on with what the primary writes. */
async function startStandby(directory: string, primary: EmbeddedPostgres): Promise<EmbeddedPostgres> {
  const home = join(directory, 'standby');
  await backUp(primary, home);
  writeAs(primary, join(home, 'data', 'standby.signal'), '');
  const { hostname, port, username, password } = new URL(primary.url);
  const source = `host=${hostname} port=${port} user=${username} password=${password} application_name=standby`;
  return startEmbeddedPostgres({
    directory: home,
    durable: false,
    settings: { ...SETTINGS, primary_conninfo: source },
  });
}

/** A backup of the running server in a directory from which one can be started. */
async function backUp(primary: EmbeddedPostgres, home: string): Promise<void> {
  const data = join(home, 'data');
  mkdirSync(home, { mode: 0o700 });
  const label = await withClient(primary.url, async (client) => {
    await client.query(`SELECT pg_backup_start('standby', true)`);
    spawnSync('cp', ['-a', primary.dataDirectory, data]);
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
    return rows[0]?.labelfile ?? '';
  });
  // The copy is whole only with what was written while it was made.
  spawnSync('cp', ['-a', join(primary.dataDirectory, 'pg_wal'), data]);
  writeAs(primary, join(home, PASSWORD_FILE), new URL(primary.url).password);
  for (const name of ['postmaster.pid', 'postmaster.opts']) rmSync(join(data, name), { force: true });
  writeAs(primary, join(data, 'backup_label'), label);
}

/** Written for the account that the server runs as. */
function writeAs({ dataDirectory }: EmbeddedPostgres, file: string, content: string): void {
  const { uid, gid } = statSync(dataDirectory);
  writeFileSync(file, content, { mode: 0o600 });
  chownSync(file, uid, gid);
}

/** From now on the primary answers no commit that the standby has not applied. */
async function followed(primary: EmbeddedPostgres): Promise<void> {
  await ask(primary.url, `ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
  await ask(primary.url, 'SELECT pg_reload_conf()');
  const followers = `SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`;
  await until(
    'the standby to follow',
    async () => (await ask(primary.url, followers)).length === 1,
    PATIENCE,
  );
}

async function ask<Row extends object>(
  url: string,
  statement: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  return withClient(url, async (client) => (await client.query<Row>(statement, [...parameters])).rows);
}

async function withClient<T>(url: string, act: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({
    connectionString: url,
    options: '-c search_path=valise,public',
    connectionTimeoutMillis: 3000,
    query_timeout: PATIENCE_MS,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await act(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
