import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { errnoOf, Refusal } from '../refusal.js';
import { canEnter, postgresAccount, type Account } from './account.js';

/** The directories of one demo. */
export interface Workplace {
  readonly root: string;
  readonly postgres: string;
  readonly pki: string;
  readonly mountedSecrets: string;
  /** The programs' settings files: database URLs, operators. */
  readonly settings: string;
  readonly logs: string;
  readonly workerState: string;
  /** The programs' TMPDIR, so that what they leave there is searched and removed. */
  readonly temporary: string;
  /** Everything that must be gone at the end; of a directory that its owner keeps, what is in it. */
  readonly remove: readonly Removal[];
}

export interface Removal {
  readonly path: string;
  readonly contentOnly: boolean;
}

/** Afterwards the directory is gone or, for `contentOnly`, empty. */
export function removeDirectory({ path, contentOnly }: Removal): void {
  const targets = contentOnly ? readdirSync(path).map((name) => join(path, name)) : [path];
  for (const target of targets) {
    rmSync(target, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/**
 * Makes a private directory for one demo: `keep`, which must be new or empty, or a fresh one for temporary files.
 * PostgreSQL gets a place of its own when, as root, its unprivileged user may not enter `keep`.
 * @throws Refusal
 */
export function makeWorkplace(keep: string | null): Workplace {
  const account = postgresAccount();
  const root = keep === null ? temporaryDirectory(account) : keptDirectory(resolve(keep));
  // The unprivileged account walks through, sees nothing, and owns only what is its own.
  chmodSync(root, account ? 0o711 : 0o700);
  let postgres = join(root, 'postgres');
  const remove: Removal[] = [{ path: root, contentOnly: keep !== null }];
  if (!canEnter(root, account)) {
    const elsewhere = temporaryDirectory(account);
    chmodSync(elsewhere, 0o711);
    remove.push({ path: elsewhere, contentOnly: false });
    symlinkSync(join(elsewhere, 'postgres'), postgres);
    postgres = join(elsewhere, 'postgres');
  }
  const below = (name: string): string => {
    mkdirSync(join(root, name), { mode: 0o700 });
    return join(root, name);
  };
  return {
    root,
    postgres,
    pki: join(root, 'pki'),
    mountedSecrets: below('mounted-secrets'),
    settings: below('settings'),
    logs: below('logs'),
    workerState: below('worker'),
    temporary: below('tmp'),
    remove,
  };
}

function keptDirectory(path: string): string {
  try {
    // Not recursive: where nothing can be made (/proc), Node's recursive mkdir never ends.
    if (!existsSync(path)) mkdirSync(path, { mode: 0o700 });
    if (readdirSync(path).length > 0) {
      throw new Refusal(`--keep needs a new or an empty directory, and ${path} has something in it.`, 2);
    }
    accessSync(path, constants.W_OK | constants.X_OK);
    // What is removed later must be the directory, not a link to it.
    return realpathSync(path);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(`--keep: ${path} cannot be used (${errnoOf(error) ?? 'unknown'}).`, 2);
  }
}

/** A new directory that `account` can walk into; TMPDIR of root is often root's alone. */
function temporaryDirectory(account: Account | null): string {
  for (const place of [tmpdir(), '/tmp', '/var/tmp']) {
    try {
      if (canEnter(place, account)) return mkdtempSync(join(place, 'valise-demo-'));
    } catch (error) {
      if (errnoOf(error) === null) throw error;
    }
  }
  throw new Refusal('No directory for temporary files can be written; set TMPDIR to one that can.');
}
