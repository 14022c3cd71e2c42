// node scripts/valise.mjs COMMAND ARG…: the command line from a clone, installed and built first where needed.
import './node-version.mjs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { giveUp, prepare, PROGRAMS, ROOT } = await import('./prepare.mjs');
const [command, ...args] = process.argv.slice(2);

try {
  await prepare(command === 'demo' ? PROGRAMS : ['cli']);
  // npm moves to the clone's root; files are named from where the person stands.
  if (process.env.INIT_CWD) process.chdir(process.env.INIT_CWD);
  const main = join(ROOT, 'dist', 'cli', 'apps', 'cli', 'src', 'main.js');
  process.argv = [process.execPath, main, ...(command === undefined ? [] : [command]), ...args];
  createRequire(import.meta.url)(main);
} catch (error) {
  giveUp(error);
}
