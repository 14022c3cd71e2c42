import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { AuditService, TransactionRunner } from '@valise/authority';
import { SESSION_HEARTBEAT_SCHEMA } from '@valise/contracts/wire';
import { completion, renewal, running, upload } from '../support/held-attempt.js';
import { useDatabase } from '../support/postgres.js';
import { OPERATOR, plainSpec, PROJECT } from '../support/published-task.js';
import { codeOf } from '../support/refusal.js';
import { report, verification } from '../support/verification.js';
import { newSessionId } from '../support/worker-session.js';
import { useWorld } from '../support/world.js';
import { populate } from './population.js';

type Run = TransactionRunner['run'];
type Tx = Parameters<Parameters<Run>[1]>[0];
type Statement = Parameters<Tx['query']>[0];
type Parameter = NonNullable<Parameters<Tx['query']>[1]>[number];

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** A statement and how PostgreSQL means to carry it out, as the role and with the settings that the product has. */
interface Planned {
  readonly statement: string;
  readonly nodes: readonly PlanNode[];
}

// An index that holds only what waits, is held or is due may be read from one end: it is as long as that.
const SHORT_INDEXES =
  /^(ix_attempts_queue|ix_attempts_project_queue|ix_leases_held|ix_runs_deadline|ix_worker_sessions_expiry|ix_denial_windows_unrecorded|ix_artifact_uploads_unfinished)$/;

/** What grows with every attempt. */
const HOT = ['runs', 'attempts', 'leases', 'lease_claims', 'artifacts', 'artifact_uploads'];

const { attempts } = verification;
const database = useDatabase();
const world = useWorld(database);

describe(`with ${attempts} attempts`, () => {
  beforeAll(() => populate(world(), database(), attempts), 1_800_000);

  it('every statement of every call finds its rows by index', async () => {
    const planned: Planned[] = [];
    const unwatch = watch(planned);
    const started = performance.now();
    const calls = await everyCall();
    unwatch();
    const statements = new Map(planned.map((each) => [each.statement, each]));
    report(
      `plans with ${attempts} attempts: ${calls} calls, ${statements.size} statements, ` +
        `${((performance.now() - started) / calls).toFixed(1)} ms per call with its plans`,
    );
    expect(statements.size).toBeGreaterThan(40);
    const large = await largeRelations();
    expect([...statements.values()].flatMap((each) => scansOf(each, large))).toEqual([]);
  }, 600_000);

  it('a delivery’s rows are small', async () => {
    const [sizes] = await database().query<{ records: string; rows: string }>(
      `SELECT sum(pg_total_relation_size(inhrelid)) AS records, (SELECT count(*) FROM delivery_records) AS rows
         FROM pg_inherits WHERE inhparent = 'delivery_records'::regclass`,
    );
    const bytes = Number(sizes?.records) / Number(sizes?.rows);
    report(`${bytes.toFixed(0)} bytes per delivery record, indexes included, with ${attempts} attempts`);
    // In a small table whole pages count, most of them empty.
    if (attempts >= 10_000) expect(bytes).toBeLessThan(600);
  });
});

/** What a worker, an operator and the sweeper do, each thing once; returns how many things that is. */
async function everyCall(): Promise<number> {
  const w = world();
  const held = await w.held('starting');
  const { worker, fence } = held;
  const { generation, workerId } = worker;
  await w.register(workerId, worker.sessionId);
  const heartbeat = { generation, expectedVersion: 1, availableSlots: 4, leaseDurationMs: 30_000 };
  await w.sessions.heartbeat(worker, { schema: SESSION_HEARTBEAT_SCHEMA, ...heartbeat });
  const repeated = { workerGeneration: generation, offerId: fence.offerId, leaseToken: fence.leaseToken };
  await w.leases.claim(worker, repeated);
  await w.leases.renew(worker, renewal(held));
  expect(await codeOf(w.authorize(held))).toBe('worker_secret_delivery_fenced');
  await w.deliveries.settle(await w.authorize(held, { expectedLeaseVersion: 2 }), 'sent');
  await w.attempts.running(worker, running(held));
  await w.artifacts.store(worker, upload(held, 3), Readable.from([Buffer.from('log')]));
  await w.attempts.complete(worker, completion(held));
  await w.runs.get(PROJECT, fence.runId);
  await w.records.list(PROJECT, fence.runId);
  const lost = await w.held('running', { spec: plainSpec({ timeoutMs: 1 }) });
  await database().query('UPDATE runs SET deadline_at_ms = 0 WHERE run_id = $1', [lost.fence.runId]);
  await w.sweeper.sweep();
  await w.expireLease(lost);
  await w.sweeper.sweep();
  await w.attempts.complete(lost.worker, completion(lost));
  await w.runs.retry(OPERATOR, PROJECT, lost.fence.runId, mutation({ previousMayStillRun: true }));
  await w.runs.cancel(OPERATOR, PROJECT, lost.fence.runId, mutation());
  const given = await w.held('claimed');
  await w.runs.cancel(OPERATOR, PROJECT, given.fence.runId, mutation());
  await w.register(given.worker.workerId, newSessionId());
  await w.attempts.startFailure(given.worker, { ...given.fence, reasonCode: 'worker_restarted' });
  await w.workers.put(OPERATOR, workerId, { status: 'revoked', projects: [], labels: {} });
  const operator = await w.connect('valise_operator', 1);
  const [event] = await operator.get(AuditService).list(null, 1);
  await operator.get(AuditService).list(event?.cursor ?? null, 100);
  await operator.close();
  return 33;
}

const mutation = <T extends object>(more?: T) => ({ mutationId: randomUUID(), ...(more ?? ({} as T)) });

/** Runs as always, and asks PostgreSQL for the plan of each statement before it is carried out. */
function watch(planned: Planned[]): () => void {
  const original = Object.getOwnPropertyDescriptor(TransactionRunner.prototype, 'run');
  const run = original?.value as (this: TransactionRunner, ...parts: Parameters<Run>) => ReturnType<Run>;
  TransactionRunner.prototype.run = function watched<T>(
    this: TransactionRunner,
    options: Parameters<Run>[0],
    work: (tx: Tx) => Promise<T>,
  ): Promise<T> {
    // Where one statement is the whole transaction, the question would be in its place.
    return run.call(this, { ...options, shape: 'reads_first' }, (tx) => {
      const query = tx.query.bind(tx);
      const queryAndCommit = tx.queryAndCommit.bind(tx);
      const plan = async (
        statement: string,
        explained: Promise<{ 'QUERY PLAN': { Plan: PlanNode }[] }[]>,
      ) => {
        const root = (await explained)[0]?.['QUERY PLAN'][0]?.Plan;
        if (root) planned.push({ statement, nodes: flatten(root) });
      };
      const explain = async (statement: Statement, parameters: readonly Parameter[] = []): Promise<void> => {
        const text = typeof statement === 'string' ? statement : statement.text;
        await plan(text, query(`EXPLAIN (FORMAT JSON) ${text}`, parameters));
        if (typeof statement === 'string') return;
        // After a few times PostgreSQL may settle for one plan for all parameters: it is judged too.
        await query('SET LOCAL plan_cache_mode = force_generic_plan');
        await query(`PREPARE generic AS ${text}`);
        const nothing = parameters.map(() => 'NULL').join(', ');
        await plan(
          `for any parameters: ${text}`,
          query(`EXPLAIN (FORMAT JSON) EXECUTE generic (${nothing})`),
        );
        await query('DEALLOCATE generic');
        await query('SET LOCAL plan_cache_mode = auto');
      };
      tx.query = async (statement, parameters) => {
        await explain(statement, parameters);
        return query(statement, parameters);
      };
      tx.queryAndCommit = async (statement, parameters) => {
        await explain(statement, parameters);
        return queryAndCommit(statement, parameters);
      };
      return work(tx);
    }) as Promise<T>;
  };
  return () => {
    if (original) Object.defineProperty(TransactionRunner.prototype, 'run', original);
  };
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}

/** What a call must never read from end to end, even by index: hot tables, and whatever has grown. */
async function largeRelations(): Promise<Set<string>> {
  const grown = await database().query<{ relname: string }>(
    `SELECT relname FROM pg_class WHERE relnamespace = 'valise'::regnamespace AND reltuples >= 1000`,
  );
  return new Set([...HOT, ...grown.map(({ relname }) => relname)]);
}

/** Where the statement would read a table from end to end. */
function scansOf({ statement, nodes }: Planned, large: ReadonlySet<string>): string[] {
  return nodes.flatMap((node) => {
    const index = node['Index Name'] ?? '';
    const whole =
      node['Node Type'] === 'Seq Scan' ||
      (/^(Index|Index Only|Bitmap Index) Scan$/.test(node['Node Type']) &&
        node['Index Cond'] === undefined &&
        large.has(node['Relation Name'] ?? '') &&
        !SHORT_INDEXES.test(index));
    return whole ? [`${node['Node Type']} of ${node['Relation Name'] ?? index}: ${statement}`] : [];
  });
}
