import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, DemoDatabase, removeTraces } from './database.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres.js';

describe('the traces of a demo in a PostgreSQL that stays', () => {
  let directory: string;
  let server: EmbeddedPostgres;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'valise-traces-spec-'));
    chmodSync(directory, 0o711);
    server = await startEmbeddedPostgres({ directory: join(directory, 'pg'), durable: false });
  });
  afterAll(async () => {
    await server.stop();
    rmSync(directory, { recursive: true });
  });

  it('are removed also while the database is still being created', async () => {
    const database = await DemoDatabase.on(server.url);
    const created = database.create().then(
      () => 'created',
      () => 'broken off',
    );
    const other = await connect(server.url);
    await removeTraces(other, database.traces);
    await created;
    const { rows } = await other.query('SELECT 1 FROM pg_database WHERE datname = $1', [
      database.traces.database,
    ]);
    expect(rows).toEqual([]);
    await other.end();
    await database.close();
  });

  it('are removed by an account that may create no roles', async () => {
    const admin = await connect(server.url);
    await admin.query("CREATE ROLE creator LOGIN CREATEDB PASSWORD 'creator'");
    const database = await DemoDatabase.on(server.url.replace(/\/\/postgres:[^@]*@/, '//creator:creator@'));
    await database.create();
    await database.remove();
    const { rows } = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [
      database.traces.database,
    ]);
    expect(rows).toEqual([]);
    await admin.end();
  });
});
