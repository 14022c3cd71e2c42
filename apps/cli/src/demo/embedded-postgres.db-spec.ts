import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { initialiseTemplate, startEmbeddedPostgres } from './embedded-postgres.js';

describe('the embedded PostgreSQL', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'valise-pg-spec-'));
    // As root the server runs as another user, who has to pass here.
    chmodSync(directory, 0o711);
  });
  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it('answers to its password only, and is gone after stop', async () => {
    const server = await startEmbeddedPostgres({ directory: join(directory, 'pg'), durable: false });
    expect(await one(server.url, 'SELECT 1 AS v')).toBe(1);
    await expect(one(server.url.replace(/:[0-9a-f]+@/, ':wrong@'), 'SELECT 1 AS v')).rejects.toMatchObject({
      code: '28P01',
    });
    await server.stop();
    expect(alive(server.pid)).toBe(false);
    await server.stop();
  });

  it('is durable unless a test asks otherwise', async () => {
    const server = await startEmbeddedPostgres({ directory: join(directory, 'pg') });
    expect(await one(server.url, "SELECT current_setting('fsync') AS v")).toBe('on');
    await server.stop();
  });

  it('leaves its password in no file', async () => {
    const server = await startEmbeddedPostgres({ directory: join(directory, 'pg'), durable: false });
    const password = new URL(server.url).password;
    const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    const holding = files.filter((entry) =>
      readFileSync(join(entry.parentPath, entry.name)).includes(password),
    );
    expect(holding).toEqual([]);
    await server.stop();
  });

  it('starts from a copy of a template, what was written to the template included', async () => {
    const template = join(directory, 'template');
    await initialiseTemplate(template);
    const first = await startEmbeddedPostgres({ directory: template, durable: false });
    await one(first.url, 'CREATE TABLE kept AS SELECT 7 AS v');
    await first.stop();

    const copies = await Promise.all(
      ['a', 'b'].map((name) =>
        startEmbeddedPostgres({ directory: join(directory, name), template, durable: false }),
      ),
    );
    for (const copy of copies) expect(await one(copy.url, 'SELECT v FROM kept')).toBe(7);
    await Promise.all(copies.map((copy) => copy.stop()));
  });
});

async function one(url: string, sql: string): Promise<unknown> {
  const client = new Client(url);
  await client.connect();
  try {
    const result = await client.query<{ v: unknown }>(sql);
    return result.rows[0]?.v;
  } finally {
    await client.end();
  }
}
function alive(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}
