import { Client } from 'pg';
import { useDatabase } from '../../../../test/support/postgres.js';
import { OPERATOR, PROJECT, publication } from '../../../../test/support/published-task.js';
import { useWorld } from '../../../../test/support/world.js';
import type { Tx } from '../database/tx.js';
import { CandidateRepository, type Candidate, type QueuedRevision } from './candidate.repository.js';

const ATTEMPTS = 20_000;
const database = useDatabase();
const world = useWorld(database);

/** Every statement of `act` as PostgreSQL carries it out. */
async function plansOf(act: (tx: Tx) => Promise<unknown>): Promise<string> {
  const client = new Client({
    connectionString: database().adminUrl,
    options: '-c search_path=valise -c enable_seqscan=off',
  });
  await client.connect();
  const plans: string[] = [];
  try {
    await world().transactions.run(
      { isolation: 'READ COMMITTED', unavailable: 'worker_ingress_unavailable' },
      async (tx) => {
        const query = tx.query.bind(tx);
        tx.query = async (statement, parameters) => {
          const text = typeof statement === 'string' ? statement : statement.text;
          const explained = await client.query<Record<string, string>>(
            `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${text}`,
            [...(parameters ?? [])],
          );
          plans.push(...explained.rows.map((row) => row['QUERY PLAN'] ?? ''));
          return query(statement, parameters);
        };
        await act(tx);
      },
    );
  } finally {
    await client.end();
  }
  return plans.join('\n');
}

describe('the queue', () => {
  const candidates = new CandidateRepository();

  beforeAll(async () => {
    await world().tasks.publish(OPERATOR, PROJECT, 'many', publication());
    await database().query(
      `INSERT INTO runs (run_id, project_id, task_id, revision, task_revision, priority, status,
                         newest_attempt_number, created_at_ms, updated_at_ms)
       SELECT 'r' || i, $1, 'many', 1, 'qltd', i % 10, 'queued', 1, 0, 0 FROM generate_series(1, $2::int) i`,
      [PROJECT, ATTEMPTS],
    );
    await database().query(
      `INSERT INTO attempts (attempt_id, run_id, attempt_number, project_id, priority, status, queued_at_ms,
                             created_at_ms, updated_at_ms, execution_digest)
       SELECT 'a' || i, 'r' || i, 1, $1, i % 10, 'queued', i, 0, 0, content_digest
         FROM generate_series(1, $2::int) i, task_execution_revisions`,
      [PROJECT, ATTEMPTS],
    );
    await database().query('ANALYZE');
  }, 60_000);

  const revisions: QueuedRevision[] = [];
  beforeAll(async () => {
    const rows = await database().query<{ content_digest: string }>(
      'SELECT content_digest FROM task_execution_revisions',
    );
    revisions.push(...rows.map((row) => ({ projectId: PROJECT, executionDigest: row.content_digest })), {
      projectId: PROJECT,
      executionDigest: 'of nothing',
    });
  });

  it.each<[string, (tx: Tx) => Promise<unknown>]>([
    ['from its head, for every project', (tx) => candidates.listHead(tx, ['*'], 64)],
    ['from its head, for some projects', (tx) => candidates.listHead(tx, [PROJECT, 'project-2'], 64)],
    ['for its revisions, for every project', (tx) => candidates.listRevisions(tx, ['*'])],
    ['for its revisions, for some projects', (tx) => candidates.listRevisions(tx, [PROJECT, 'project-2'])],
    ['for some revisions', (tx) => candidates.listOf(tx, revisions, 64)],
    ['for their placements', (tx) => candidates.readPlacements(tx, revisions)],
  ])('is read %s by index, and no more of it than that', async (_what, read) => {
    const plan = await plansOf(read);
    expect(plan).not.toContain('Seq Scan');
    expect(plan).not.toMatch(/actual rows=\d{4,}/);
    expect(plan).not.toMatch(/Rows Removed by Filter: \d{2,}/);
  });

  it('is not searched for a project that has nothing in it', async () => {
    const plan = await plansOf((tx) => candidates.listHead(tx, ['project-2'], 64));
    expect(plan).not.toMatch(/Rows Removed by Filter: \d{2,}/);
  });

  it.each<[string, (tx: Tx) => Promise<Candidate[]>]>([
    ['of every project', (tx) => candidates.listHead(tx, ['*'], 3000)],
    ['of some projects', (tx) => candidates.listHead(tx, [PROJECT, 'project-2'], 3000)],
    ['of some revisions', (tx) => candidates.listOf(tx, revisions, 3000)],
  ])('begins with the larger priority, then with what has waited longer: %s', async (_what, read) => {
    const head = await inTransaction(read);
    expect(head.map(({ attemptId }) => attemptId)).toEqual([
      ...Array.from({ length: 2000 }, (_, index) => `a${index * 10 + 9}`),
      ...Array.from({ length: 1000 }, (_, index) => `a${index * 10 + 8}`),
    ]);
  });

  it.each([[['*']], [[PROJECT, 'project-2']]])('has each revision once for %j', async (projects) => {
    expect(await inTransaction((tx) => candidates.listRevisions(tx, projects))).toEqual([revisions[0]]);
  });
});

function inTransaction<T>(read: (tx: Tx) => Promise<T>): Promise<T> {
  return world().transactions.run(
    { isolation: 'READ COMMITTED', unavailable: 'worker_ingress_unavailable' },
    read,
  );
}
