import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { ValiseError, type FailureCode } from '@valise/contracts/failure';
import type { Pool, PoolClient } from 'pg';
import { DataSource, type QueryRunner } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { AUTHORITY_SETTINGS, type AuthoritySettings } from '../settings.js';
import { databaseFault, DatabaseFault, type RetryableSqlState } from './database-fault.js';

export type Isolation = 'READ COMMITTED' | 'SERIALIZABLE';

/** A value PostgreSQL gets as a parameter, never as text of the statement. */
export type Parameter = string | number | boolean | null | Buffer | readonly string[];

const MAX_RETRIES = 5;
const RETRY_CEILING_MS = 200;

/** How a transaction begins, and how much its work may do. */
interface TxScope {
  /** Sent together with the first statement; null when PostgreSQL has heard it, or nothing begins. */
  readonly start: string | null;
  /** False for a statement that PostgreSQL commits by itself. */
  readonly several: boolean;
}

/**
 * An open transaction. Only the runner makes one, so a repository called outside a transaction does not compile.
 */
export class Tx {
  #failed: DatabaseFault | null = null;
  #start: string | null;
  #deciding = false;

  private constructor(
    private readonly client: PoolClient,
    private readonly scope: TxScope,
  ) {
    this.#start = scope.start;
  }

  /** For the runner alone. */
  static of(client: PoolClient, scope: TxScope = { start: null, several: true }): Tx {
    return new Tx(client, scope);
  }

  /** Runs one statement and returns its rows. @throws DatabaseFault */
  query<Row extends object>(statement: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    return this.send(statement, parameters, !this.scope.several);
  }

  /**
   * Runs the last statement, with COMMIT right behind it: what it did is committed when its rows are here.
   * @throws DatabaseFault; Error where it would be the first of a transaction that `reads_first`: nothing is sent then
   */
  queryAndCommit<Row extends object>(
    statement: string,
    parameters: readonly Parameter[] = [],
  ): Promise<Row[]> {
    return this.send(statement, parameters, true);
  }

  /** The fault after which PostgreSQL turns COMMIT into ROLLBACK without saying so, or null. */
  get failed(): DatabaseFault | null {
    return this.#failed;
  }

  /** Whether the statement that ends the transaction is on its way or through. */
  get deciding(): boolean {
    return this.#deciding;
  }

  /**
   * All that needs no answer in between leaves in one piece: each piece wakes a server process, and waits for it. The
   * driver is called itself; nobody listens to TypeORM's events and its query log.
   */
  private async send<Row extends object>(
    statement: string,
    parameters: readonly Parameter[],
    decides: boolean,
  ): Promise<Row[]> {
    if (this.#deciding) throw new Error('nothing follows the statement that ends a transaction');
    const commits = decides && this.scope.several;
    // Should START fail, what goes along with it runs, and is committed, by itself.
    if (commits && this.#start !== null)
      throw new Error('a transaction that reads first does not end with its first statement');
    this.#deciding = decides;
    const { client } = this;
    const { stream } = client.connection;
    stream.cork();
    const begun = this.#start === null ? null : client.query(this.#start);
    const asked = client.query<Row>(statement, [...parameters]);
    const committed = commits ? client.query('COMMIT') : null;
    stream.uncork();
    this.#start = null;
    try {
      return (await inOrder(begun, asked, committed)).rows;
    } catch (error) {
      this.#failed = databaseFault(error);
      throw this.#failed;
    }
  }
}

/** The middle one's result once all have ended well, else the first failure. */
async function inOrder<T>(
  before: Promise<unknown> | null,
  asked: Promise<T>,
  after: Promise<unknown> | null,
): Promise<T> {
  if (!before && !after) return asked;
  const [begun, result, ended] = await Promise.allSettled([before, asked, after]);
  if (begun.status === 'rejected') throw begun.reason;
  if (result.status === 'rejected') throw result.reason;
  if (ended.status === 'rejected') throw ended.reason;
  return result.value;
}

export interface TransactionOptions {
  readonly isolation: Isolation;
  /** What a caller hears when the decision could not be made, or when it is not known whether it was. */
  readonly unavailable: FailureCode & `${string}_unavailable`;
  /** Overrides the settings' deadline for the transaction with all its retries. */
  readonly deadlineMs?: number;
  /**
   * What may be saved of the round trips. `one_statement`: the work is one, and PostgreSQL commits it by itself.
   * `reads_first`: START goes together with the first statement, which only reads: should START fail, it did nothing.
   */
  readonly shape?: 'one_statement' | 'reads_first';
}

/** How often transactions ended in which way since the process started. */
export interface TransactionCounts {
  committed: number;
  refused: number;
  retried: number;
  unavailable: number;
  unknownOutcome: number;
  /** Of the retries, how many each SQLSTATE caused. */
  retriedBySqlState: Record<RetryableSqlState, number>;
  /** How often a connection was asked for, and how long all of them were waited for together. */
  connections: number;
  connectionWaitMs: number;
}

/** A pool's connections at this moment. */
export interface PoolUse {
  readonly open: number;
  readonly idle: number;
  /** Transactions that wait for one. */
  readonly waiting: number;
}

/** The one place where transactions begin and end. */
@Injectable()
export class TransactionRunner {
  readonly counts: TransactionCounts = {
    committed: 0,
    refused: 0,
    retried: 0,
    unavailable: 0,
    unknownOutcome: 0,
    retriedBySqlState: { '40001': 0, '40P01': 0 },
    connections: 0,
    connectionWaitMs: 0,
  };

  constructor(
    private readonly dataSource: DataSource,
    @Inject(AUTHORITY_SETTINGS) private readonly settings: AuthoritySettings,
  ) {}

  /** The pool's connections now. */
  get poolUse(): PoolUse {
    const pool = (this.dataSource.driver as PostgresDriver).master as Pool;
    const { totalCount, idleCount, waitingCount } = pool;
    return { open: totalCount, idle: idleCount, waiting: waitingCount };
  }

  /**
   * Runs `work` in one transaction and commits it. `work` touches nothing else and may run again: serialization
   * failures and deadlocks, also those of COMMIT, are retried with full jitter, five times at most and within the
   * deadline. The connection is rolled back before it returns to the pool, and leaves the pool if that fails.
   * @throws ValiseError `unavailable` when no decision was made in time, or (`outcome: unknown`) when the connection
   * broke while committing. @throws DatabaseFault for a fault of ours, such as a violated constraint.
   */
  async run<T>(options: TransactionOptions, work: (tx: Tx) => Promise<T>): Promise<T> {
    const deadline = performance.now() + (options.deadlineMs ?? this.settings.transactionDeadlineMs);
    for (let retries = 0; ; retries += 1) {
      try {
        const result = await this.once(options, work);
        this.counts.committed += 1;
        return result;
      } catch (error) {
        if (error instanceof ValiseError) {
          this.counts.refused += 1;
          throw error;
        }
        if (!(error instanceof Fault)) throw error;
        const backoffMs = Math.random() * Math.min(RETRY_CEILING_MS, 10 * 2 ** retries);
        const { retryable } = error.fault;
        const again = retryable !== null && retries < MAX_RETRIES && performance.now() + backoffMs < deadline;
        if (!again) throw this.verdict(error, options);
        this.counts.retried += 1;
        this.counts.retriedBySqlState[retryable] += 1;
        await pause(backoffMs);
      }
    }
  }

  private async once<T>(options: TransactionOptions, work: (tx: Tx) => Promise<T>): Promise<T> {
    const queryRunner = this.dataSource.createQueryRunner();
    let tx: Tx | null = null;
    let ended = false;
    let lost = false;
    try {
      const client = await this.connect(queryRunner);
      tx = await begin(client, options);
      const result = await work(tx);
      if (tx.failed) throw tx.failed;
      if (!tx.deciding) await step(client, 'COMMIT', 'committing');
      ended = true;
      return result;
    } catch (error) {
      const cause =
        error instanceof DatabaseFault ? new Fault(error, tx?.deciding ? 'committing' : 'working') : error;
      lost = cause instanceof Fault && cause.fault.connectionLost;
      throw cause;
    } finally {
      // What ends by itself is ended already.
      if (!ended && !lost && !tx?.deciding) lost = await rollback(queryRunner);
      if (lost) await abandon(queryRunner);
      await queryRunner.release();
    }
  }

  /** The connection that the pool has handed out; how long that took is counted. */
  private async connect(queryRunner: QueryRunner): Promise<PoolClient> {
    const askedAtMs = performance.now();
    try {
      return (await queryRunner.connect()) as PoolClient;
    } catch (error) {
      throw new Fault(databaseFault(error), 'working');
    } finally {
      this.counts.connections += 1;
      this.counts.connectionWaitMs += performance.now() - askedAtMs;
    }
  }

  private verdict({ fault, phase }: Fault, options: TransactionOptions): Error {
    if (!fault.transient) return fault;
    const unknown = phase === 'committing' && fault.connectionLost;
    this.counts[unknown ? 'unknownOutcome' : 'unavailable'] += 1;
    return new ValiseError(options.unavailable, {
      outcome: unknown ? 'unknown' : 'none',
      sqlState: fault.sqlState ?? 'none',
      retryAfterMs: this.settings.idleRetryAfterMs,
    });
  }
}

/** A driver's fault and whether COMMIT was on its way. */
class Fault extends Error {
  constructor(
    readonly fault: DatabaseFault,
    readonly phase: 'working' | 'committing',
  ) {
    super(fault.message);
  }
}

/** A transaction that has begun, or does so with its first statement. */
async function begin(client: PoolClient, { isolation, shape }: TransactionOptions): Promise<Tx> {
  const start = `START TRANSACTION ISOLATION LEVEL ${isolation}`;
  if (shape === 'one_statement') return Tx.of(client, { start: null, several: false });
  if (shape === 'reads_first') return Tx.of(client, { start, several: true });
  await step(client, start, 'working');
  return Tx.of(client);
}

async function step(client: PoolClient, statement: string, phase: Fault['phase']): Promise<void> {
  try {
    await client.query(statement);
  } catch (error) {
    throw new Fault(databaseFault(error), phase);
  }
}

/** Ends the transaction; true when the connection cannot be trusted any more. */
async function rollback(queryRunner: QueryRunner): Promise<boolean> {
  try {
    await queryRunner.query('ROLLBACK');
    return false;
  } catch {
    return true;
  }
}

/** Closes the client, so that the pool does not hand it on. Nobody waits: the other side may never answer. */
async function abandon(queryRunner: QueryRunner): Promise<void> {
  try {
    const client = (await queryRunner.connect()) as { end(): Promise<void> };
    client.end().catch(() => undefined);
  } catch {
    // It is closed already, or never was open.
  }
}
