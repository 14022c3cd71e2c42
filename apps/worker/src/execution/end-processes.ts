import { monotonicMs } from '../clock/monotonic.js';
import { pause } from '../clock/pause.js';
import { findProcesses, type ProcessOwner } from './process-table.js';
import type { SlotKiller } from './slot-killer.js';

const LOOK_MS = 20;
const LONGEST_LOOK_MS = 500;

/**
 * Ends everything of `owner`, also what left its process group: TERM, then KILL after `graceMs` or as soon as `urgent`
 * is aborted. Resolves when nothing of it is left, with whether anything was found. With a killer for the uid of its slot
 * it is gone for certain; what shares the worker's uid may hide (SECURITY.md).
 */
export async function endProcesses(
  owner: ProcessOwner,
  killer: SlotKiller | null,
  graceMs: number,
  urgent: AbortSignal,
): Promise<boolean> {
  let pids: readonly number[] = findProcesses(owner);
  const hasFound = pids.length > 0;
  if (hasFound) pids = await terminate(owner, pids, graceMs, urgent);
  for (let lookMs = 1; ; lookMs = Math.min(lookMs * 2, LONGEST_LOOK_MS)) {
    signal(pids, 'SIGKILL');
    const isCertain = killer === null || (await killer.kill(owner.uid));
    if (isCertain && findProcesses(owner).length === 0) return hasFound;
    await pause(lookMs);
    pids = findProcesses(owner);
  }
}

async function terminate(
  owner: ProcessOwner,
  pids: readonly number[],
  graceMs: number,
  urgent: AbortSignal,
): Promise<readonly number[]> {
  signal(pids, 'SIGTERM');
  // A stopped process takes no TERM before it goes on.
  signal(pids, 'SIGCONT');
  const killAtMs = monotonicMs() + graceMs;
  let left = pids;
  while (monotonicMs() < killAtMs && !urgent.aborted && left.length > 0) {
    await pause(LOOK_MS, urgent);
    left = findProcesses(owner);
  }
  return left;
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It has ended meanwhile; the next look tells.
    }
  }
}
