import { readFileSync } from 'node:fs';

/** The kernel counts in these (USER_HZ on every Linux that Node runs on). */
const MS_PER_TICK = 10;

/** User and system time of a process and all its threads since it started, in milliseconds. */
export function cpuMsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name in parentheses may hold anything, so fields count from the last parenthesis.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

/** Resident memory in MiB. */
export function residentMiB(pid: number): number {
  const kiB = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return Number(kiB) / 1024;
}
