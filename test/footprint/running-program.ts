import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Program } from '../../apps/cli/src/demo/program.js';
import { logged } from '../support/programs.js';

const CENSUS = join(__dirname, 'census.cjs');

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

/** Bytes of all files below `directory`. */
export function sizeOf(directory: string): number {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true });
  return files
    .filter((file) => file.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
