import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { searchDatabase } from './database-search.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres.js';
import { patternsOf, type Needle } from './needles.js';
import { Search } from './search.js';

const value = 'needle "with" \\ and\ta second\nline-of-it';
const needle: Needle = { label: 'value', kind: 'value', bytes: Buffer.from(value) };
const patterns = patternsOf([needle]);

describe('the search of a database', () => {
  let directory: string;
  let server: EmbeddedPostgres;
  let client: Client;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'valise-search-spec-'));
    chmodSync(directory, 0o711);
    server = await startEmbeddedPostgres({ directory: join(directory, 'pg'), durable: false });
    client = new Client(server.url);
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await server.stop();
    rmSync(directory, { recursive: true });
  });

  const places = async (): Promise<string[]> => {
    const search = new Search(patterns);
    await searchDatabase(client, search);
    return [...new Set(search.sightings.map(({ place }) => place))].sort();
  };

  it('of a fresh cluster reads all its catalogues and finds nothing that is not there', async () => {
    const search = new Search([...patterns, ...patternsOf([{ ...needle, bytes: Buffer.from('postgres') }])]);
    await searchDatabase(client, search);
    expect(search.searchedBytes).toBeGreaterThan(1_000_000);
    const found = search.sightings;
    expect(found.every(({ pattern }) => pattern.bytes.includes('postgres'))).toBe(true);
    expect(found.map(({ place }) => place)).toEqual(
      expect.arrayContaining(['pg_catalog.pg_authid.rolname', 'pg_catalog.pg_database.datname']),
    );
  });

  it('sees a value in a column of any kind, in any schema, in a partition and compressed', async () => {
    await client.query(`
      CREATE SCHEMA "odd ""schema";
      CREATE TABLE "odd ""schema"."odd table" (
        "a text" text, b bytea, c jsonb, d text[], e json, f varchar(200), g int, h xml);
      CREATE TYPE pair AS (left_side text, right_side text);
      CREATE TABLE rowtype (p pair);
      CREATE TABLE parted (month int, note text) PARTITION BY RANGE (month);
      CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
      CREATE TABLE long_one (t text);
    `);
    await client.query(
      `INSERT INTO "odd ""schema"."odd table" VALUES ($1::text, $2, $3, $4, $5, $1::text, 7, NULL)`,
      [value, Buffer.from(value), JSON.stringify({ deep: [value] }), ['x', value], JSON.stringify(value)],
    );
    await client.query('INSERT INTO rowtype VALUES (ROW($1, $2)::pair)', ['x', value]);
    await client.query('INSERT INTO parted VALUES (1, $1)', [value]);
    await client.query("INSERT INTO long_one VALUES ($1 || repeat('padding ', 10000))", [value]);
    expect(await places()).toEqual([
      ...['a text', 'b', 'c', 'd', 'e', 'f'].map((column) => `odd "schema.odd table.${column}`),
      'public.long_one.t',
      'public.parted_1.note',
      'public.rowtype.p',
    ]);
  });

  it('sees compressed values that the files do not show', async () => {
    await client.query('CHECKPOINT');
    const search = new Search(patterns);
    await search.tree(server.dataDirectory);
    expect(search.sightings.length).toBeGreaterThan(0);
    await client.query("CREATE TABLE only_sql AS SELECT repeat('unseen-on-disk ', 10000) AS t");
    await client.query('CHECKPOINT');
    const other = patternsOf([{ ...needle, bytes: Buffer.from('on-disk unseen-on-disk unseen-on-disk un') }]);
    const inFiles = new Search(other);
    await inFiles.tree(server.dataDirectory);
    const bySql = new Search(other);
    await searchDatabase(client, bySql);
    expect(inFiles.sightings).toEqual([]);
    expect(bySql.sightings.map(({ place }) => place)).toEqual(['public.only_sql.t']);
  });
});
