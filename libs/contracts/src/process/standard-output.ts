import { writeSync } from 'node:fs';

const STANDARD_OUTPUT = 1;
/** A pipe that takes nothing for so long has nobody at its other end who reads. */
const MAX_WAITS = 100;
const WAIT_MS = 10;
const nobodyWakes = new Int32Array(new SharedArrayBuffer(4));

/**
 * Where a program's log goes, each line at once. What cannot be written (the reader is gone, the disk is full) is lost: no
 * line is worth the work that it tells of.
 */
export const standardOutput = {
  write(line: string): void {
    let rest = Buffer.from(line);
    for (let waits = 0; rest.length > 0;) {
      try {
        rest = rest.subarray(writeSync(STANDARD_OUTPUT, rest));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || waits === MAX_WAITS) return;
        waits += 1;
        Atomics.wait(nobodyWakes, 0, 0, WAIT_MS);
      }
    }
  },
};
