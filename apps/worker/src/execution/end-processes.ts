import { monotonicMs } from '../clock/monotonic.js';
import { pause } from '../clock/pause.js';
import { findProcesses, type ProcessOwner } from './process-table.js';

const LOOK_MS = 20;
const LONGEST_LOOK_MS = 500;

/**
 * Ends everything of `owner`, also what left its process group: TERM, then KILL after `graceMs` or as soon as `urgent`
 * is aborted. Resolves when nothing of it is left, with whether anything was found.
 */
export async function endProcesses(
  owner: ProcessOwner,
  graceMs: number,
  urgent: AbortSignal,
): Promise<boolean> {
  let pids = findProcesses(owner);
  if (pids.length === 0) return false;
  signal(pids, 'SIGTERM');
  // A stopped process takes no TERM before it goes on.
  signal(pids, 'SIGCONT');
  const killAtMs = monotonicMs() + graceMs;
  while (pids.length > 0 && monotonicMs() < killAtMs && !urgent.aborted) {
    await pause(LOOK_MS, urgent);
    pids = findProcesses(owner);
  }
  for (let lookMs = 1; pids.length > 0; lookMs = Math.min(lookMs * 2, LONGEST_LOOK_MS)) {
    signal(pids, 'SIGKILL');
    await pause(lookMs);
    pids = findProcesses(owner);
  }
  return true;
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
