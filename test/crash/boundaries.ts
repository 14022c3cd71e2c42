import type { LogLine, Program } from '../../apps/cli/src/demo/program.js';
import { ATTEMPT_STEPS } from '../../apps/worker/src/events/steps.js';

/** Where a slot's record begins, and where it is gone. */
export const FIRST = 'before claiming';
export const LAST = 'after forgotten';

/** The boundary of an attempt that a line of a worker's log (level debug) stands for, or null. */
function boundaryOf({ event, moment, change }: LogLine): string | null {
  if (event === 'journal') return change === 'session' ? null : `${String(moment)} ${String(change)}`;
  return ATTEMPT_STEPS.find((step) => step === event) ?? null;
}

/** What a life of the worker passed, in its order, each once. */
export function passedBoundaries({ lines }: Program): string[] {
  return [...new Set(lines.map(boundaryOf).filter((boundary) => boundary !== null))];
}
