import { readFileSync } from 'node:fs';

/** The kernel counts in these (USER_HZ on every Linux that Node runs on). */
const MS_PER_TICK = 10;
/** Places in /proc/PID/stat after the name (proc_pid_stat(5)). */
const USER_TIME = 11;
const SYSTEM_TIME = 12;
const START = 19;

/** User and system time of a process and all its threads since it started, in milliseconds. */
export function cpuMsOf(pid: number): number {
  return msAt(pid, USER_TIME) + msAt(pid, SYSTEM_TIME);
}

/** How long a process has lived, in milliseconds, to a hundredth of a second. */
export function ageMs(pid: number): number {
  const upSeconds = Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0]);
  return upSeconds * 1000 - msAt(pid, START);
}

/** Resident memory in MiB. */
export function residentMiB(pid: number): number {
  const kiB = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return Number(kiB) / 1024;
}

/** A time that the kernel counts in ticks, in milliseconds. */
function msAt(pid: number, place: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name in parentheses may hold anything, so fields count from the last parenthesis.
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[place]) * MS_PER_TICK;
}
