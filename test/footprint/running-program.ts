import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Program } from '../../apps/cli/src/demo/program.js';
import { logged } from '../support/programs.js';

const CENSUS = join(__dirname, 'census.cjs');
/** The kernel counts in these (USER_HZ on every Linux that Node runs on). */
const TICKS_PER_SECOND = 100;
const START_FIELD = 19;

/** The setting under which a program can be asked for its census. */
export const CENSUS_SETTING = { NODE_OPTIONS: `--require=${CENSUS}` };

/** What a program has loaded. */
export interface Loaded {
  readonly modules: number;
  readonly bytes: number;
}

/** @throws Refusal when it does not answer */
export async function loadedBy(program: Program): Promise<Loaded> {
  process.kill(program.pid, 'SIGUSR2');
  const { modules, bytes } = await logged(program, 'census');
  return { modules: Number(modules), bytes: Number(bytes) };
}

/** How long a process has lived, in milliseconds, to a hundredth of a second. */
export function ageMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name in parentheses may hold anything, so fields count from the last parenthesis.
  const startedTicks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_FIELD]);
  const upSeconds = Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0]);
  return (upSeconds - startedTicks / TICKS_PER_SECOND) * 1000;
}

/** Bytes of all files below `directory`. */
export function sizeOf(directory: string): number {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true });
  return files
    .filter((file) => file.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
