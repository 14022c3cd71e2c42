import { inspect } from 'node:util';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { ValiseError } from '@valise/contracts/failure';
import { useDatabase } from '../../../../test/support/postgres.js';
import { DEFAULT_SETTINGS } from '../settings.js';
import { connectionOptions } from './data-source.js';
import { DatabaseFault } from './database-fault.js';
import { TransactionRunner, type TransactionOptions } from './transaction-runner.js';
import type { Tx } from './tx.js';

const database = useDatabase();
const SERIALIZABLE: TransactionOptions = {
  isolation: 'SERIALIZABLE',
  unavailable: 'worker_ingress_unavailable',
};
const COMMITTED: TransactionOptions = { ...SERIALIZABLE, isolation: 'READ COMMITTED' };

let dataSource: DataSource;
let runner: TransactionRunner;

beforeEach(async () => {
  // One connection: whatever a transaction leaves behind, the next one meets.
  const pool = { url: database().adminUrl, applicationName: 'runner', poolSize: 1 };
  const settings = { ...DEFAULT_SETTINGS, lockTimeoutMs: 300, statementTimeoutMs: 1000 };
  dataSource = await new DataSource(connectionOptions(pool, settings)).initialize();
  runner = new TransactionRunner(dataSource, settings);
  await database().query('DROP TABLE IF EXISTS public.counters');
  await database().query('CREATE TABLE public.counters (id integer PRIMARY KEY, count integer NOT NULL)');
  await database().query('INSERT INTO public.counters VALUES (1, 0), (2, 0)');
});
afterEach(() => dataSource.destroy());

const count = async (id = 1): Promise<number | undefined> =>
  (await database().query<{ count: number }>('SELECT count FROM public.counters WHERE id = $1', [id]))[0]
    ?.count;
const add = (tx: Tx, id = 1) => tx.query('UPDATE public.counters SET count = count + 1 WHERE id = $1', [id]);
const backendOf = async (tx: Tx): Promise<number> =>
  (await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0]?.pid ?? 0;

describe('a transaction', () => {
  it.each([SERIALIZABLE, COMMITTED])('has the isolation that its caller gives', async (options) => {
    const [row] = await runner.run(options, (tx) =>
      tx.query<{ transaction_isolation: string }>('SHOW transaction_isolation'),
    );
    expect(row?.transaction_isolation).toBe(options.isolation.toLowerCase());
  });

  it('has the timeouts and the plans of the product', async () => {
    const [row] = await runner.run(COMMITTED, (tx) =>
      tx.query(`SELECT current_setting('enable_seqscan') AS seqscan, current_setting('lock_timeout') AS lock,
                       current_setting('statement_timeout') AS statement, current_setting('search_path') AS path,
                       current_setting('idle_in_transaction_session_timeout') AS idle`),
    );
    expect(row).toEqual({ seqscan: 'off', lock: '300ms', statement: '1s', path: 'valise', idle: '10s' });
  });

  it('is taken back when its work refuses, and the connection is fit for the next one', async () => {
    const refused = runner.run(COMMITTED, async (tx) => {
      await add(tx);
      throw new ValiseError('not_found');
    });
    await expect(refused).rejects.toMatchObject({ code: 'not_found' });
    expect(await count()).toBe(0);
    await runner.run(COMMITTED, (tx) => add(tx));
    expect(await count()).toBe(1);
    expect(runner.counts).toMatchObject({ committed: 1, refused: 1 });
  });

  it('is run again when somebody else changed what it read', async () => {
    let times = 0;
    await runner.run(SERIALIZABLE, async (tx) => {
      times += 1;
      await tx.query('SELECT count FROM public.counters WHERE id = 1');
      if (times === 1) await database().query('UPDATE public.counters SET count = 10 WHERE id = 1');
      await add(tx);
    });
    expect(times).toBe(2);
    expect(await count()).toBe(11);
    expect(runner.counts.retried).toBe(1);
  });

  it('is run again when COMMIT says that it cannot be serialized', async () => {
    const other = new Client({ connectionString: database().adminUrl });
    await other.connect();
    let times = 0;
    await runner.run(SERIALIZABLE, async (tx) => {
      times += 1;
      await tx.query('SELECT sum(count) FROM public.counters');
      await add(tx, 1);
      if (times > 1) return;
      // The other one reads what this one writes, writes what this one reads, and commits first.
      await other.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
      await other.query('SELECT sum(count) FROM public.counters');
      await other.query('UPDATE public.counters SET count = count + 1 WHERE id = 2');
      await other.query('COMMIT');
    });
    await other.end();
    expect(times).toBe(2);
    expect([await count(1), await count(2)]).toEqual([1, 1]);
  });

  it('commits with its last statement where that says so, and takes no further one', async () => {
    let after: unknown;
    await runner.run({ ...SERIALIZABLE, shape: 'reads_first' }, async (tx) => {
      await tx.query('SELECT count FROM public.counters WHERE id = 1');
      await tx.queryAndCommit('UPDATE public.counters SET count = count + 1 WHERE id = 1');
      expect(await count()).toBe(1);
      after = await add(tx).catch((error: unknown) => error);
    });
    expect(after).toMatchObject({ message: 'nothing follows the statement that ends a transaction' });
    expect(await count()).toBe(1);
  });

  it('is run again when the COMMIT behind its last statement cannot be serialized', async () => {
    let times = 0;
    await runner.run({ ...SERIALIZABLE, shape: 'reads_first' }, async (tx) => {
      times += 1;
      await tx.query('SELECT count FROM public.counters WHERE id = 1');
      if (times === 1) await database().query('UPDATE public.counters SET count = 10 WHERE id = 1');
      await tx.queryAndCommit('UPDATE public.counters SET count = count + 1 WHERE id = 1');
    });
    expect(times).toBe(2);
    expect(await count()).toBe(11);
  });

  it('does nothing when it cannot begin, although its first statement went along', async () => {
    const outcome = runner.run(
      { ...SERIALIZABLE, isolation: 'NONSENSE' as 'SERIALIZABLE', shape: 'reads_first' },
      (tx) => tx.query('SELECT count FROM public.counters WHERE id = 1'),
    );
    await expect(outcome).rejects.toMatchObject({ sqlState: '42601' });
    await runner.run(COMMITTED, (tx) => add(tx));
    expect(await count()).toBe(1);
  });

  it('that begins with its first statement does not end with it too', async () => {
    const outcome = runner.run(
      { ...SERIALIZABLE, isolation: 'NONSENSE' as 'SERIALIZABLE', shape: 'reads_first' },
      (tx) => tx.queryAndCommit('UPDATE public.counters SET count = count + 1 WHERE id = 1'),
    );
    await expect(outcome).rejects.toThrow(
      'a transaction that reads first does not end with its first statement',
    );
    expect(await count()).toBe(0);
  });

  it('of one statement is that statement alone', async () => {
    const outcome = runner.run({ ...COMMITTED, shape: 'one_statement' }, async (tx) => {
      await add(tx);
      await add(tx);
    });
    await expect(outcome).rejects.toThrow('nothing follows the statement that ends a transaction');
    expect(await count()).toBe(1);
  });

  it('gives up after five retries, and says that nothing happened', async () => {
    let times = 0;
    const outcome = runner.run(SERIALIZABLE, async (tx) => {
      times += 1;
      await tx.query('SELECT count FROM public.counters WHERE id = 1');
      await database().query('UPDATE public.counters SET count = count + 1 WHERE id = 1');
      await add(tx);
    });
    await expect(outcome).rejects.toMatchObject({
      code: 'worker_ingress_unavailable',
      facts: { outcome: 'none', sqlState: '40001' },
    });
    expect(times).toBe(6);
  });

  it('is not run again past its deadline', async () => {
    let times = 0;
    const outcome = runner.run({ ...SERIALIZABLE, deadlineMs: 0 }, async (tx) => {
      times += 1;
      await tx.query('SELECT count FROM public.counters WHERE id = 1');
      await database().query('UPDATE public.counters SET count = count + 1 WHERE id = 1');
      await add(tx);
    });
    await expect(outcome).rejects.toMatchObject({ code: 'worker_ingress_unavailable' });
    expect(times).toBe(1);
  });

  it('has an unknown outcome when the connection breaks while it commits', async () => {
    await database().query(`CREATE FUNCTION public.break_off() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$`);
    await database().query(`CREATE CONSTRAINT TRIGGER break_off AFTER UPDATE ON public.counters
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.break_off()`);
    const outcome = runner.run(COMMITTED, (tx) => add(tx));
    await expect(outcome).rejects.toMatchObject({
      code: 'worker_ingress_unavailable',
      facts: { outcome: 'unknown' },
    });
    expect(runner.counts.unknownOutcome).toBe(1);
    await database().query('DROP TRIGGER break_off ON public.counters; DROP FUNCTION public.break_off()');
    await runner.run(COMMITTED, (tx) => add(tx));
    expect(await count()).toBe(1);
  });

  it('did nothing when the connection breaks before, and the pool goes on with another', async () => {
    let broken = 0;
    const outcome = runner.run(COMMITTED, async (tx) => {
      broken = await backendOf(tx);
      await database().query('SELECT pg_terminate_backend($1)', [broken]);
      await add(tx);
    });
    await expect(outcome).rejects.toMatchObject({ facts: { outcome: 'none' } });
    expect(await runner.run(COMMITTED, backendOf)).not.toBe(broken);
  });

  it('leaves a node that turned read-only', async () => {
    let readOnly = 0;
    const outcome = runner.run(COMMITTED, async (tx) => {
      readOnly = await backendOf(tx);
      await tx.query('SET TRANSACTION READ ONLY');
      await add(tx);
    });
    await expect(outcome).rejects.toMatchObject({ facts: { outcome: 'none', sqlState: '25006' } });
    expect(await runner.run(COMMITTED, backendOf)).not.toBe(readOnly);
  });

  it('does not wait for a lock for ever', async () => {
    const release = await database().hold('SELECT count FROM public.counters WHERE id = 1 FOR UPDATE');
    const outcome = runner.run(COMMITTED, (tx) => add(tx));
    await expect(outcome).rejects.toMatchObject({
      code: 'worker_ingress_unavailable',
      facts: { sqlState: '55P03' },
    });
    await release();
  });

  it('is not committed when its work hides a fault from it', async () => {
    const outcome = runner.run(COMMITTED, async (tx) => {
      await add(tx);
      await tx.query('SELECT 1 / 0').catch(() => undefined);
    });
    await expect(outcome).rejects.toBeInstanceOf(DatabaseFault);
    expect(await count()).toBe(0);
  });

  it('shows nothing of the statement, its parameters or the row in a fault', async () => {
    const outcome = runner.run(COMMITTED, (tx) =>
      tx.query('INSERT INTO public.counters VALUES ($1, $2) /* hunter2-statement */', [1, 424242]),
    );
    const fault: unknown = await outcome.catch((error: unknown) => error);
    expect(fault).toMatchObject({ sqlState: '23505', constraint: 'counters_pkey' });
    expect(inspect(fault, { depth: 9, showHidden: true })).not.toMatch(/hunter2|424242|Key \(/);
  });

  it('does not wait for a server that has fallen silent, and leaves its connection', async () => {
    let silent = 0;
    const outcome = runner.run(COMMITTED, async (tx) => {
      silent = await backendOf(tx);
      // A statement without a limit of its own, as if the network had swallowed the answer.
      await tx.query('SET LOCAL statement_timeout = 0');
      await tx.query('SELECT pg_sleep(30)');
    });
    await expect(outcome).rejects.toMatchObject({ facts: { outcome: 'none', sqlState: 'none' } });
    expect(await runner.run(COMMITTED, backendOf)).not.toBe(silent);
  }, 20_000);
});
