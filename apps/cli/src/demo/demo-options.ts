import type { SecretOption } from './task-input.js';

export interface DemoOptions {
  /** A dotenv file, or null for the built-in sample. */
  readonly envFile: string | null;
  readonly secrets: readonly SecretOption[];
  /** What the task runs: an absolute path and its arguments; empty for the built-in program. */
  readonly command: readonly string[];
  /** Whether one JSON object is the last line of output. */
  readonly json: boolean;
  /** A directory in which everything stays running until Ctrl-C, or null. */
  readonly keep: string | null;
  /** An account of a PostgreSQL that may create databases and roles, or null for an embedded one. */
  readonly databaseUrl: string | null;
}
