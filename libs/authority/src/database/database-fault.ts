import { QueryFailedError } from 'typeorm';

/** Serialization failure and deadlock. */
export type RetryableSqlState = '40001' | '40P01';

/**
 * What may be known of a driver's error: SQLSTATE and the name of the violated constraint.
 * Query, parameters, detail and message stay behind: PostgreSQL quotes values in them.
 */
export class DatabaseFault extends Error {
  override readonly name = 'DatabaseFault';

  constructor(
    /** Five characters, or null when the connection broke and the server said nothing. */
    readonly sqlState: string | null,
    readonly constraint: string | null = null,
  ) {
    super(`database fault sqlState=${sqlState ?? 'none'} constraint=${constraint ?? 'none'}`);
  }

  /** Why the transaction did nothing and may be run again, or null where it may not. */
  get retryable(): RetryableSqlState | null {
    return this.sqlState === '40001' || this.sqlState === '40P01' ? this.sqlState : null;
  }

  /**
   * The connection is of no use any more: broken, shut down by the server, or to a node that turned read-only.
   * class 08, 57P01…57P05, 25006; 0A000, with which a standby refuses to begin a SERIALIZABLE transaction;
   * 26000 and 42P05, where something in between has lost or kept prepared statements.
   */
  get connectionLost(): boolean {
    return (
      this.sqlState === null ||
      /^(08|57P0)/.test(this.sqlState) ||
      /^(25006|25P03|25P04|0A000|26000|42P05)$/.test(this.sqlState)
    );
  }

  /** Not now, but perhaps later: lost connections, timeouts, cancellations, a server without resources. */
  get transient(): boolean {
    return this.connectionLost || this.retryable !== null || /^(53|55P03|57014)/.test(this.sqlState ?? '');
  }
}

/** Strips a foreign error at the driver's edge. */
export function databaseFault(error: unknown): DatabaseFault {
  if (error instanceof DatabaseFault) return error;
  const driver: unknown = error instanceof QueryFailedError ? error.driverError : error;
  return new DatabaseFault(sqlStateOf(driver), textOf(driver, 'constraint'));
}

function sqlStateOf(driver: unknown): string | null {
  const code = textOf(driver, 'code');
  // ECONNRESET and its like stand in the same field.
  return code !== null && /^[0-9A-Z]{5}$/.test(code) && textOf(driver, 'severity') !== null ? code : null;
}

function textOf(value: unknown, key: string): string | null {
  if (typeof value !== 'object' || value === null || !(key in value)) return null;
  const found = (value as Record<string, unknown>)[key];
  return typeof found === 'string' ? found : null;
}
