import { Client } from 'pg';
import { useDatabase } from '../../../../test/support/postgres.js';
import { OPERATOR, PROJECT, publication, useWorld } from '../../../../test/support/postgres-world.js';
import type { Tx } from '../database/transaction-runner.js';
import { CandidateRepository } from './candidate.repository.js';

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
          const explained = await client.query<Record<string, string>>(
            `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${statement}`,
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
                             created_at_ms, updated_at_ms)
       SELECT 'a' || i, 'r' || i, 1, $1, i % 10, 'queued', i, 0, 0 FROM generate_series(1, $2::int) i`,
      [PROJECT, ATTEMPTS],
    );
    await database().query('ANALYZE');
  }, 60_000);

  it('is read from its head by index, for every project and for some', async () => {
    for (const projects of [['*'], [PROJECT, 'project-2']]) {
      const plan = await plansOf((tx) => candidates.list(tx, projects, null, 64));
      expect(plan).not.toContain('Seq Scan');
      expect(plan).not.toMatch(/actual rows=\d{4,}/);
    }
  });

  it('is not searched for a project that has nothing in it', async () => {
    const plan = await plansOf((tx) => candidates.list(tx, ['project-2'], null, 64));
    expect(plan).not.toMatch(/Rows Removed by Filter: \d{2,}/);
  });

  it.each([[['*']], [[PROJECT, 'project-2']]])(
    'is paged completely and in order for %j',
    async (projects) => {
      const seen: { priority: number; queuedAtMs: number }[] = [];
      await world().transactions.run(
        { isolation: 'READ COMMITTED', unavailable: 'worker_ingress_unavailable' },
        async (tx) => {
          let last = null;
          for (;;) {
            const page = await candidates.list(tx, projects, last, 3000);
            seen.push(...page);
            last = page.at(-1) ?? null;
            if (!last) return;
          }
        },
      );
      expect(seen).toHaveLength(ATTEMPTS);
      const sorted = [...seen].sort((a, b) => b.priority - a.priority || a.queuedAtMs - b.queuedAtMs);
      expect(seen.every((each, index) => each === sorted[index])).toBe(true);
    },
  );
});
