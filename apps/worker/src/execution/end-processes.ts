import { monotonicMs } from '../clock/monotonic.js';
import { pause } from '../clock/pause.js';
import { killEverything } from './kill-everything.js';
import { findProcesses, type ProcessOwner } from './process-table.js';

const LOOK_MS = 20;
const LONGEST_LOOK_MS = 500;

/**
 * Ends everything of `owner`, also what left its process group: TERM, then KILL after `graceMs` or as soon as `urgent`
 * is aborted. Resolves when nothing of it is left, with whether anything was found. What is known by the uid of its
 * slot is gone for certain; what shares the worker's uid may hide from it (SECURITY.md).
 */
export async function endProcesses(
  owner: ProcessOwner,
  graceMs: number,
  urgent: AbortSignal,
): Promise<boolean> {
  const pids = findProcesses(owner);
  if (pids.length > 0) await terminate(owner, pids, graceMs, urgent);
  for (let lookMs = 1; ; lookMs = Math.min(lookMs * 2, LONGEST_LOOK_MS)) {
    const isCertain = await kill(owner);
    if (isCertain && findProcesses(owner).length === 0) return pids.length > 0;
    await pause(lookMs);
  }
}

async function terminate(
  owner: ProcessOwner,
  pids: readonly number[],
  graceMs: number,
  urgent: AbortSignal,
): Promise<void> {
  signal(pids, 'SIGTERM');
  // A stopped process takes no TERM before it goes on.
  signal(pids, 'SIGCONT');
  const killAtMs = monotonicMs() + graceMs;
  while (monotonicMs() < killAtMs && !urgent.aborted) {
    await pause(LOOK_MS, urgent);
    if (findProcesses(owner).length === 0) return;
  }
}

/** Whether nothing of `owner` that lived at this moment has escaped, as far as that can be known. */
async function kill(owner: ProcessOwner): Promise<boolean> {
  signal(findProcesses(owner), 'SIGKILL');
  return owner.kind === 'uid' ? killEverything(owner.uid) : true;
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
