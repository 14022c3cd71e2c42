import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres.js';
import type { Needle } from './needles.js';
import { Proof, type ProofResult, type Surface } from './proof.js';

const needles: Needle[] = [
  { label: 'name API_TOKEN', kind: 'name', bytes: Buffer.from('API_TOKEN') },
  { label: 'value of API_TOKEN', kind: 'value', bytes: Buffer.from('tok-51f0c1f7"x') },
  { label: 'value of PGUSER', kind: 'value', bytes: Buffer.from('postgres') },
  { label: 'value of DEBUG', kind: 'value', bytes: Buffer.from('on') },
];

describe('the proof', () => {
  let directory: string;
  let server: EmbeddedPostgres;
  let database: Client;
  let surface: Surface;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'valise-proof-spec-'));
    chmodSync(directory, 0o711);
    for (const name of ['tmp', 'mounted', 'program']) mkdirSync(join(directory, name));
    server = await startEmbeddedPostgres({ directory: join(directory, 'pg'), durable: false });
    database = new Client(server.url);
    await database.connect();
    surface = {
      database,
      paths: [directory],
      except: [join(directory, 'mounted'), join(directory, 'pg', 'binaries')],
      temporary: join(directory, 'tmp'),
      databaseFiles: server.dataDirectory,
    };
  });
  afterAll(async () => {
    await database.end();
    await server.stop();
    rmSync(directory, { recursive: true });
  });

  const proofAfter = async (happening: () => unknown, log = ''): Promise<ProofResult> => {
    const proof = new Proof(needles);
    await proof.learn(surface, [join(directory, 'program')], []);
    expect(proof.notDistinguishable.map(({ label }) => label)).toEqual(['value of PGUSER']);
    expect(proof.unsearchable.map(({ label }) => label)).toEqual(['value of DEBUG']);
    await happening();
    return proof.search(surface, Buffer.from(log));
  };

  it('finds nothing where nothing was written down, and reads everything', async () => {
    const result = await proofAfter(() => {
      writeFileSync(join(directory, 'mounted', 'bundle'), 'API_TOKEN=tok-51f0c1f7"x');
    });
    expect(result).toMatchObject({ found: [], needles: 2, taskOutput: { names: 0, values: 0 } });
    expect(result.searchedBytes).toBeGreaterThan(20_000_000);
  });

  it('finds a name in a log file, in base64', async () => {
    const file = join(directory, 'worker.log');
    const { found } = await proofAfter(() => {
      writeFileSync(file, Buffer.from('{"API_TOKEN":1}').toString('base64'));
    });
    expect(found).toMatchObject([{ place: file, pattern: { form: 'base64', needle: { kind: 'name' } } }]);
    rmSync(file);
  });

  it('counts names that the task printed apart, also where its log is stored', async () => {
    const log = 'HOME=/\nAPI_TOKEN=[masked]\nend of it\n';
    const file = join(directory, 'artifact');
    const result = await proofAfter(() => {
      writeFileSync(file, `head${log}tail`);
    }, log);
    expect(result).toMatchObject({ found: [], taskOutput: { names: 1, values: 0 } });
    rmSync(file);
  });

  it('counts a value that the task printed unmasked', async () => {
    const result = await proofAfter(() => undefined, 'it is tok-51f0c1f7"x\n');
    expect(result.taskOutput.values).toBe(1);
  });

  it('is no proof when the search did not see the decoy', async () => {
    const blind = { ...surface, except: [...surface.except, join(directory, 'tmp')] };
    await expect(new Proof(needles).search(blind, Buffer.alloc(0))).rejects.toThrow('did not see a decoy');
    const elsewhere = { ...surface, paths: [join(directory, 'tmp')] };
    await expect(new Proof(needles).search(elsewhere, Buffer.alloc(0))).rejects.toThrow(
      'did not see a decoy',
    );
  });

  it('leaves no decoy behind', async () => {
    await proofAfter(() => undefined);
    const { rows } = await database.query("SELECT 1 FROM pg_class WHERE relname = 'valise_demo_decoy'");
    expect(rows).toEqual([]);
  });

  // Last, because what it writes stays in the write-ahead log.
  it('finds a value in a row, where SQL and the files both show it', async () => {
    await database.query('CREATE TABLE leak (body jsonb)');
    const { found } = await proofAfter(() =>
      database.query('INSERT INTO leak VALUES ($1)', [{ t: 'tok-51f0c1f7"x' }]),
    );
    const places = found.map(({ place }) => place);
    expect(places).toContain('public.leak.body');
    expect(places.some((place) => place.startsWith(`${server.dataDirectory}/`))).toBe(true);
    expect(new Set(found.map(({ pattern }) => pattern.needle.label))).toEqual(
      new Set(['value of API_TOKEN']),
    );
  });
});
