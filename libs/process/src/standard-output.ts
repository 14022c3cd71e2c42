import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';

const STANDARD_OUTPUT = 1;
const NOTHING: Buffer = Buffer.alloc(0);

const MOST_PATIENCE_MS = 100;
/** How much of the time that passes may be spent on waiting. */
const PATIENCE_SHARE = 0.01;
const WAIT_MS = 5;
const nobodyWakes = new Int32Array(new SharedArrayBuffer(4));

/**
 * Standard output as a descriptor that fails where it would block. It is opened again where that is possible: the flag
 * belongs to the opened file, which others may share (the shell its terminal, a pipeline's other programs their pipe).
 */
function openedWithoutBlocking(): number {
  const output = fstatSync(STANDARD_OUTPUT);
  if (!isatty(STANDARD_OUTPUT) && !output.isFIFO() && !output.isSocket()) return STANDARD_OUTPUT;
  try {
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return openSync('/proc/self/fd/1', O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // A socket, or another user's pipe. Node sets the flag on either once it makes a stream of it.
    return process.stdout.fd;
  }
}

/**
 * Where a program's log goes, each line at once and whole. What cannot be written (nobody reads, the disk is full) is lost,
 * and counted in a line of its own when writing works again: no line is worth the work that it tells of. It waits for a slow
 * reader 100 ms, and after that 1 % of the time; for one that has stalled, not at all.
 */
class StandardOutput {
  #descriptor: number | null = null;
  /** What is still to come of a line that has been begun. */
  #rest = NOTHING;
  #lost = 0;
  #patienceMs = MOST_PATIENCE_MS;
  #patientAtMs = 0;

  write(line: string): void {
    const isStuck = this.#rest.length > 0 || this.#lost > 0;
    this.#rest = this.#put(this.#rest, isStuck);
    if (this.#rest.length > 0) {
      this.#lost += 1;
      return;
    }
    const bytes = Buffer.from(this.#lost > 0 ? lossOf(this.#lost) + line : line);
    const rest = this.#put(bytes, isStuck);
    if (rest.length === bytes.length) {
      this.#lost += 1;
      return;
    }
    this.#rest = rest;
    this.#lost = 0;
  }

  /** Gives back what was not taken. */
  #put(bytes: Buffer, isStuck: boolean): Buffer {
    this.#descriptor ??= openedWithoutBlocking();
    let rest = bytes;
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(this.#descriptor, rest));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code !== 'EAGAIN' || isStuck || !this.#hasWaited()) break;
      }
    }
    return rest;
  }

  /** Waits a little, or says that there is no patience left for it. */
  #hasWaited(): boolean {
    const nowMs = performance.now();
    const regained = (nowMs - this.#patientAtMs) * PATIENCE_SHARE;
    this.#patienceMs = Math.min(MOST_PATIENCE_MS, this.#patienceMs + regained);
    this.#patientAtMs = nowMs;
    if (this.#patienceMs < WAIT_MS) return false;
    Atomics.wait(nobodyWakes, 0, 0, WAIT_MS);
    this.#patienceMs -= performance.now() - nowMs;
    return true;
  }
}

/** As a line of the programs' logs. */
function lossOf(lines: number): string {
  const time = new Date().toISOString();
  const msg = 'lines of this log were lost while nothing took them';
  return `${JSON.stringify({ level: 40, time, event: 'log_lines_lost', lines, msg })}\n`;
}

export const standardOutput = new StandardOutput();
