import { readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { Refusal } from '../refusal.js';

/** The user and group a program runs as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Who PostgreSQL runs as: null (ourselves) for an ordinary user; for root, whom PostgreSQL refuses, the unprivileged
 * account 65534, or `nobody` where that has another number.
 */
export function postgresAccount(): Account | null {
  if (process.getuid?.() !== 0) return null;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const found =
    accounts.find((fields) => fields[2] === '65534') ?? accounts.find((fields) => fields[0] === 'nobody');
  if (!found) {
    throw new Refusal(
      'PostgreSQL does not run as root and /etc/passwd has no unprivileged account (nobody); use --database-url.',
    );
  }
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

/** @throws Refusal when we have no user name (`lookUp` fails), without which initdb makes no cluster */
export function assertOwnName(lookUp: () => unknown = userInfo): void {
  try {
    lookUp();
  } catch {
    throw new Refusal(
      `User id ${process.getuid?.() ?? 'of ours'} has no entry in /etc/passwd, and PostgreSQL's initdb needs one; add it or use --database-url.`,
    );
  }
}

/** Whether `account` may walk into `directory`: every directory on the way lets it pass. Null is ourselves: yes. */
export function canEnter(directory: string, account: Account | null): boolean {
  if (!account) return true;
  const { uid, gid, mode } = statSync(directory);
  const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
  if (!(mode & bit)) return false;
  const parent = dirname(directory);
  return parent === directory || canEnter(parent, account);
}
