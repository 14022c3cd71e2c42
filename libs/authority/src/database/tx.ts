import type { PoolClient } from 'pg';
import { databaseFault, type DatabaseFault } from './database-fault.js';

/** A value PostgreSQL gets as a parameter, never as text of the statement. */
export type Parameter = string | number | boolean | null | Buffer | readonly string[];

/**
 * A statement that runs all the time: PostgreSQL takes it apart and plans it once for each connection, which is most of
 * what it costs there. `name` is its own among all of them.
 */
export interface PreparedStatement {
  readonly name: string;
  readonly text: string;
}

export type Statement = string | PreparedStatement;

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
  query<Row extends object>(statement: Statement, parameters: readonly Parameter[] = []): Promise<Row[]> {
    return this.send(statement, parameters, !this.scope.several);
  }

  /**
   * Runs the last statement, with COMMIT right behind it: what it did is committed when its rows are here.
   * @throws DatabaseFault; Error where it would be the first of a transaction that `reads_first`: nothing is sent then
   */
  queryAndCommit<Row extends object>(
    statement: Statement,
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
    statement: Statement,
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
    const { name, text } = typeof statement === 'string' ? { name: undefined, text: statement } : statement;
    const asked = client.query<Row>({ ...(name && { name }), text, values: [...parameters] });
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
