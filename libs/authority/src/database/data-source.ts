import type { DataSourceOptions } from 'typeorm';
import type { AuthoritySettings } from '../settings.js';

/** The schema that holds everything of ours. */
export const SCHEMA = 'valise';

/** One database role's pool, as an app asks for it. */
export interface PoolOptions {
  /** `postgresql://role:password@host:port/database`. */
  readonly url: string;
  readonly applicationName: string;
  readonly poolSize: number;
}

/**
 * How the product connects. Everything is set by connection options, so that no round trip is spent on it.
 * Sequential scans are off: on a tiny table one of them makes every SERIALIZABLE transaction conflict with every other.
 */
export function connectionOptions(
  { url, applicationName, poolSize }: PoolOptions,
  settings: AuthoritySettings,
): DataSourceOptions {
  const server = {
    search_path: SCHEMA,
    enable_seqscan: 'off',
    statement_timeout: settings.statementTimeoutMs,
    lock_timeout: settings.lockTimeoutMs,
    idle_in_transaction_session_timeout: settings.idleTimeoutMs,
  };
  return {
    type: 'postgres',
    url,
    applicationName,
    poolSize,
    connectTimeoutMS: settings.connectTimeoutMs,
    installExtensions: false,
    logging: false,
    // Times are milliseconds and fit a number.
    parseInt8: true,
    extra: {
      options: serverOptions(server),
      keepAlive: true,
      // Statements that need no answer in between go out together (tx.ts).
      pipeline: true,
      // For a server that does not even say that its own limit has passed.
      query_timeout: settings.statementTimeoutMs + SILENCE_MS,
    },
    // The pool drops the broken client by itself; the driver's message may quote the server and goes nowhere.
    poolErrorHandler: () => undefined,
  };
}

const SILENCE_MS = 1000;

/** The `options` start-up parameter of the protocol. */
export function serverOptions(settings: Readonly<Record<string, string | number>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}
