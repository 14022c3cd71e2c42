// The least that starts a task as the worker does: the same command line, the environment through a pipe, nothing else.
// One line of JSON on standard input says which, how often and how many at once; one on standard output what it cost.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

const { file, args, handover, times, atOnce } = JSON.parse(await text(process.stdin));
let left = times;

async function lane() {
  while (left > 0) {
    left -= 1;
    const child = spawn(file, args, {
      env: {},
      cwd: '/',
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
    });
    child.stdio[3].end(handover);
    for (const stream of [child.stdout, child.stderr, child.stdio[4]]) stream.resume();
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`the command ended with ${code}`);
  }
}

const before = process.cpuUsage();
await Promise.all(Array.from({ length: atOnce }, lane));
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ cpuMs: (user + system) / 1000 }));
