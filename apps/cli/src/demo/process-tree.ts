import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A process that cannot be mistaken for a later one with the same number. */
export interface ProcessId {
  readonly pid: number;
  /** In clock ticks since the machine started. */
  readonly startTime: string;
}

interface ProcessStat extends ProcessId {
  readonly parent: number;
  readonly session: number;
  readonly zombie: boolean;
}

export function identify(pid: number): ProcessId | null {
  const found = statOf(pid);
  return found ? { pid, startTime: found.startTime } : null;
}

/** Whether it is still there and not merely waiting to be collected. */
export function isAlive({ pid, startTime }: ProcessId): boolean {
  const found = statOf(pid);
  return found !== null && found.startTime === startTime && !found.zombie;
}

/** The parent, its parent, and so on, nearest first; without process 1. */
export function ancestorsOf(pid: number): ProcessId[] {
  const chain: ProcessId[] = [];
  for (let found = statOf(pid); found && found.parent > 1;) {
    found = statOf(found.parent);
    if (found) chain.push({ pid: found.pid, startTime: found.startTime });
  }
  return chain;
}

/** Every process below `root`, as of now. */
export function descendantsOf(root: number): ProcessId[] {
  return below(root, everyProcess()).map(({ pid, startTime }) => ({ pid, startTime }));
}

/** The user ids of a process (real, effective, saved, of the file system); none when it is gone. */
export function usersOf(pid: number): number[] {
  try {
    // Not the owner of /proc/PID: a program can make that root.
    const status = readFileSync(join('/proc', String(pid), 'status'), 'latin1');
    return (/^Uid:\t(.*)$/m.exec(status)?.[1] ?? '').split('\t').map(Number);
  } catch {
    return [];
  }
}

/** Sends `signal` if it is still that process. */
export function signal(target: ProcessId, name: NodeJS.Signals): void {
  if (!isAlive(target)) return;
  try {
    process.kill(target.pid, name);
  } catch {
    // It has just ended, or is no longer ours to signal.
  }
}

/**
 * Ends a process, everything below it, and everything in a session that one of these leads, at once. It is stopped
 * first, so that it starts nothing meanwhile.
 */
export function endTree(root: ProcessId): void {
  signal(root, 'SIGSTOP');
  const every = everyProcess();
  const tree = new Set([root.pid, ...below(root.pid, every).map(({ pid }) => pid)]);
  for (const found of every) {
    if (found.pid !== root.pid && (tree.has(found.pid) || tree.has(found.session))) signal(found, 'SIGKILL');
  }
  signal(root, 'SIGKILL');
}

function everyProcess(): ProcessStat[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (statOf(Number(name)) ?? []) : []));
}

function below(root: number, every: readonly ProcessStat[]): ProcessStat[] {
  return every
    .filter(({ parent }) => parent === root)
    .flatMap((child) => [child, ...below(child.pid, every)]);
}

/** `/proc/PID/stat`: the name in parentheses may hold anything, so fields count from the last parenthesis. */
function statOf(pid: number): ProcessStat | null {
  let text: string;
  try {
    text = readFileSync(join('/proc', String(pid), 'stat'), 'latin1');
  } catch {
    return null;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return {
    pid,
    parent: Number(fields[1]),
    session: Number(fields[3]),
    startTime: fields[19] ?? '',
    zombie: fields[0] === 'Z' || fields[0] === 'X',
  };
}
