import { readdirSync, readFileSync } from 'node:fs';

/** The living processes that were started with one of these attempts' ids, whoever started them. */
export function processesOf(attemptIds: readonly string[]): number[] {
  const marks = attemptIds.map((attemptId) => Buffer.from(`QL3_ATTEMPT_ID=${attemptId}\0`));
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const environment = readFileSync(`/proc/${pid}/environ`);
      return marks.some((mark) => environment.includes(mark));
    } catch {
      // It has ended, or is somebody else's.
      return false;
    }
  });
}
