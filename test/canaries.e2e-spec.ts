import { randomUUID } from 'node:crypto';
import { appendFileSync, chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { createSecretReference, writeEnvironmentBundle } from '@valise/contracts/documents';
import { searchDatabase } from '../apps/cli/src/demo/database-search.js';
import { patternsOf, type Needle } from '../apps/cli/src/demo/needles.js';
import { Search } from '../apps/cli/src/demo/search.js';
import { useDeployment } from './support/deployment.js';
import { useDatabase } from './support/postgres.js';
import { PROJECT } from './support/published-task.js';
import { PlainAddress } from './support/wire/plain-address.js';

const TALKATIVE = { VALISE_LOG_LEVEL: 'trace', NODE_DEBUG: 'tls,http,net,child_process', DEBUG: '*' };

const database = useDatabase();
beforeAll(async () => {
  // A server that is not ours is not told what to log; its tables are searched all the same.
  if (database().dataDirectory === null) return;
  await database().query(`ALTER SYSTEM SET log_statement = 'all'`);
  await database().query(`SELECT pg_reload_conf()`);
});
const deployment = useDeployment(database, TALKATIVE);

const nonce = randomUUID().replaceAll('-', '');
const decoy = `decoy-${nonce}`;
const SECRET_VALUE = `canary-secret-${nonce}`;
const BUNDLE = {
  [`CANARY_NAME_${nonce}`]: `canary-bundle-${nonce}`,
  [`CANARY_OTHER_${nonce}`]: `two\nlines-${nonce}`,
};

const needle = (kind: Needle['kind'], text: string): Needle => ({
  label: text,
  kind,
  bytes: Buffer.from(text),
});
const search = new Search(
  patternsOf([
    ...Object.keys(BUNDLE).map((name) => needle('name', name)),
    ...Object.values(BUNDLE).map((value) => needle('value', value)),
    needle('value', SECRET_VALUE),
    needle('value', decoy),
  ]),
);

/** Publishes and starts a task that prints its values on both streams, the decoy too, waits for `go`, and fails. */
async function startTask(go: string): Promise<string> {
  const bundleRef = createSecretReference({ projectId: PROJECT, name: 'canary-bundle', version: 1 });
  const secretRef = createSecretReference({ projectId: PROJECT, name: 'canary-secret', version: 1 });
  const entries = Object.entries(BUNDLE).map(([name, value]) => ({ name, value }));
  deployment().secrets.lay(bundleRef, writeEnvironmentBundle(entries));
  deployment().secrets.lay(secretRef, SECRET_VALUE);
  const command = [
    `echo ${decoy}`,
    // Every value, and no name: what a task itself says of names is its own choice.
    `for copy in 1 2; do env | sed 's/^[A-Za-z0-9_]*=//'; done`,
    `printf %s "user:$TOKEN" | base64 >&2`,
    `set -x; : "$TOKEN"; set +x`,
    `while [ ! -e ${go} ]; do sleep 0.05; done`,
    `echo "failed: $TOKEN" >&2; exit 9`,
  ].join('\n');
  const config = {
    command: { kind: 'argv', file: '/bin/sh', args: ['-c', command] },
    environment: [{ name: 'TOKEN', kind: 'secret', secretRef }],
    environmentBundleRef: bundleRef,
  };
  return deployment().run({ spec: { schema: 'qinglong/command@v1', config } });
}

/** What the programs and the database wrote, but for the secrets themselves. */
async function searchFiles(): Promise<void> {
  const { directory } = deployment();
  await search.tree(directory, [join(directory, 'secrets')]);
  const { dataDirectory } = database();
  if (dataDirectory === null) return;
  await search.tree(dataDirectory);
  await search.file(join(dirname(dataDirectory), 'postgres.log'));
}

async function searchTables(): Promise<void> {
  const client = new Client({ connectionString: database().adminUrl });
  await client.connect();
  try {
    await searchDatabase(client, search);
  } finally {
    await client.end();
  }
}

/** Whatever control tells of the run to those who may see it. */
async function searchAnswers(runId: string): Promise<void> {
  const run = `projects/${PROJECT}/runs/${runId}`;
  for (const path of [run, `${run}/log`, `${run}/deliveries`, `${run}/nothing`]) {
    const { text, headers } = await deployment().read(path, {});
    search.bytes(Buffer.from(text), `answer ${path.split('/').at(-1) ?? ''}`);
    search.bytes(Buffer.from(JSON.stringify(headers)), `headers ${path}`);
  }
  const part = await deployment().read(`${run}/log`, { range: 'bytes=10-' });
  search.bytes(Buffer.from(part.text), 'answer part');
  const printed = deployment().valise('run', 'log', runId, '--project', PROJECT);
  search.bytes(Buffer.from(printed.stdout + printed.stderr), 'command line');
  const { text } = await new PlainAddress(deployment().ports.plain).get('/metrics');
  search.bytes(Buffer.from(text), 'metrics');
}

/** Lays the decoy where nothing of the run's would have brought it. */
async function layDecoys(): Promise<void> {
  const { directory } = deployment();
  for (const name of readdirSync(directory).filter((each) => each.endsWith('.log'))) {
    appendFileSync(join(directory, name), `${decoy}\n`);
  }
  writeFileSync(join(directory, 'worker-canary', 'inbox', 'decoy'), decoy);
  writeFileSync(join(directory, 'decoy.tmp'), Buffer.from(decoy, 'utf16le'));
  // Long, so that PostgreSQL compresses it: only a search of the tables sees that one.
  await database().query('CREATE TABLE public.decoys AS SELECT repeat($1::text, 1000) AS decoy', [decoy]);
  await database().query('CREATE TABLE public.short_decoys AS SELECT $1::text AS short_decoy', [decoy]);
  await database().query('CHECKPOINT');
}

/** Where the decoy must be found, by a part of the place's name. */
function placesOfDecoys(): string[] {
  const ofFiles = ['control-0.log', 'worker-1.log', '/inbox/', '/artifacts/', 'decoy.tmp'];
  const ofTables = ['public.decoys.decoy', 'public.short_decoys.short_decoy', 'valise.task_'];
  const ofServer = database().dataDirectory === null ? [] : ['/pg_wal/', '/base/', 'postgres.log'];
  return [...ofFiles, ...ofTables, ...ofServer, 'answer log', 'answer part', 'command line'];
}

describe('names and values', () => {
  it('stand in no column, file, log or answer of ours, while a task runs and afterwards, at log level trace; a decoy stands in each', async () => {
    const shared = mkdtempSync(join(tmpdir(), 'valise-canary-'));
    chmodSync(shared, 0o755);
    try {
      await deployment().allow('canary');
      await deployment().startWorker('canary', TALKATIVE);
      const runId = await startTask(join(shared, 'go'));
      await deployment().runWhen(runId, ({ status }) => status === 'running');
      await searchFiles();
      writeFileSync(join(shared, 'go'), '');
      const run = await deployment().ended(runId);
      expect(run.attempts.at(-1)).toMatchObject({ status: 'failed', exitCode: 9 });
      await layDecoys();
      await searchTables();
      await searchFiles();
      await searchAnswers(runId);
    } finally {
      rmSync(shared, { recursive: true });
    }
    const found = search.sightings.map(({ pattern, place }) => ({ label: pattern.needle.label, place }));
    expect(found.filter(({ label }) => label !== decoy)).toEqual([]);
    const places = found.map(({ place }) => place);
    expect(placesOfDecoys().filter((part) => !places.some((place) => place.includes(part)))).toEqual([]);
  }, 180_000);
});
