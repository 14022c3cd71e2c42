// node scripts/run.mjs [--built] TOOL ARG…: a tool of node_modules, after everything it needs is in place.
import './node-version.mjs';
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';

const { giveUp, prepare, PROGRAMS, ROOT } = await import('./prepare.mjs');
const built = process.argv[2] === '--built';
const [tool, ...args] = process.argv.slice(built ? 3 : 2);

try {
  await prepare(built ? PROGRAMS : []);
  const child = spawn(join(ROOT, 'node_modules', '.bin', tool), args, { cwd: ROOT, stdio: 'inherit' });
  // A terminal signals the child as well; a supervisor signals only us.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.once('close', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal];
  });
} catch (error) {
  giveUp(error);
}
