import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identify, isAlive, signal, usersOf, type ProcessId } from './process-tree.js';

/**
 * By what processes are known that left their parents, their group and their session: all that a user id has, or all of
 * ours that were given this entry (`NAME=value`) in their environment.
 */
export type ProcessMark =
  { readonly kind: 'uid'; readonly uid: number } | { readonly kind: 'environment'; readonly entry: string };

const DEADLINE_MS = 10_000;
const LOOK_EVERY_MS = 10;

/**
 * Afterwards no process with the mark is left, if whoever starts them has ended before.
 * @throws Error when some are still there after ten seconds
 */
export async function endMarked(mark: ProcessMark): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  for (let found = markedBy(mark); found.length > 0; found = markedBy(mark)) {
    if (Date.now() > deadline) throw new Error('processes are left');
    if (mark.kind === 'uid') endUser(mark.uid);
    else for (const process of found) signal(process, 'SIGKILL');
    await delay(LOOK_EVERY_MS);
  }
}

/** One `kill` of everything that user has: the kernel lets nothing fork away from it, as it can from a list of pids. */
function endUser(uid: number): void {
  spawnSync('/bin/sh', ['-c', 'kill -9 -1'], { uid, gid: uid, cwd: '/', env: {}, stdio: 'ignore' });
}

/** The living processes with the mark; one that merely waits to be collected runs nothing. */
export function markedBy(mark: ProcessMark): ProcessId[] {
  const own = process.getuid?.();
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const users = usersOf(Number(name));
    const marked =
      mark.kind === 'uid'
        ? users.includes(mark.uid)
        : own !== undefined && users.includes(own) && environmentHas(name, mark.entry);
    const found = marked ? identify(Number(name)) : null;
    return found && isAlive(found) ? [found] : [];
  });
}

/** What is read may hold secrets, and is zeroed. */
function environmentHas(pid: string, entry: string): boolean {
  let environment: Buffer;
  try {
    environment = readFileSync(join('/proc', pid, 'environ'));
  } catch {
    // Gone, or not ours to read: then we did not start it.
    return false;
  }
  const first = Buffer.from(`${entry}\0`);
  const found = environment.subarray(0, first.length).equals(first) || environment.includes(`\0${entry}\0`);
  environment.fill(0);
  return found;
}
