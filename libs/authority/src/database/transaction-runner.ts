import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { ValiseError, type FailureCode } from '@valise/contracts/failure';
import type { Pool, PoolClient } from 'pg';
import { DataSource, type QueryRunner } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { AUTHORITY_SETTINGS, type AuthoritySettings } from '../settings.js';
import { databaseFault, DatabaseFault, type RetryableSqlState } from './database-fault.js';
import { Tx } from './tx.js';

export type Isolation = 'READ COMMITTED' | 'SERIALIZABLE';

const MAX_RETRIES = 5;
const RETRY_CEILING_MS = 200;

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
