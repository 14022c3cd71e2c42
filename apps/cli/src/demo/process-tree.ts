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
  const children = new Map<number, ProcessStat[]>();
  for (const name of readdirSync('/proc')) {
    const found = /^\d+$/.test(name) ? statOf(Number(name)) : null;
    if (found) children.set(found.parent, [...(children.get(found.parent) ?? []), found]);
  }
  const below = (pid: number): ProcessStat[] =>
    (children.get(pid) ?? []).flatMap((child) => [child, ...below(child.pid)]);
  return below(root).map(({ pid, startTime }) => ({ pid, startTime }));
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

/** Ends a process and everything below it at once. It is stopped first, so that it starts nothing meanwhile. */
export function endTree(root: ProcessId): void {
  signal(root, 'SIGSTOP');
  for (const below of descendantsOf(root.pid)) signal(below, 'SIGKILL');
  signal(root, 'SIGKILL');
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
    startTime: fields[19] ?? '',
    zombie: fields[0] === 'Z' || fields[0] === 'X',
  };
}
