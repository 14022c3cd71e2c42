import type { LogLevel } from '@valise/contracts/settings';
import type { LogLimits } from '../logs/log-file.js';

/** How tasks are kept apart: a uid and gid per slot (as root), or everything under the worker's own. */
export type Isolation =
  | { readonly kind: 'uid_per_slot'; readonly baseUid: number }
  | { readonly kind: 'shared_uid'; readonly uid: number };

/** Everything the worker was told, complete. Paths are absolute, times in milliseconds. */
export class WorkerConfig {
  readonly controlUrl: URL;
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly authorityFile: string;
  /** Inbox and artefacts; nobody else's. */
  readonly stateDirectory: string;
  readonly slots: number;
  /** 5000–600000; what the session and each lease are asked to live for. */
  readonly leaseDurationMs: number;
  readonly isolation: Isolation;
  readonly baseEnvironment: ReadonlyMap<string, string>;
  readonly allowedNames: ReadonlySet<string>;
  readonly logLimits: LogLimits;
  readonly logLevel: LogLevel;
  /** From TERM to KILL. */
  readonly stopGraceMs: number;

  constructor(settings: { readonly [Name in keyof WorkerConfig]: WorkerConfig[Name] }) {
    Object.assign(this, settings);
  }
}
