import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { DatabaseTraces } from './database.js';
import { endMarked, type ProcessMark } from './process-mark.js';
import { endTree, isAlive, signal, type ProcessId } from './process-tree.js';
import type { WatchdogOrder } from './watchdog.js';
import { removeDirectory, type Removal } from './workplace.js';

const LOOK_EVERY_MS = 250;
/** How long the demo may take to clear up by itself once npm is gone. */
const DEMO_GRACE_MS = 15_000;
const END_DEADLINE_MS = 10_000;

let demo: ProcessId | null = null;
let ancestors: readonly ProcessId[] = [];
const processes: { readonly process: ProcessId; readonly by: 'SIGKILL' | 'SIGQUIT' }[] = [];
const marks: ProcessMark[] = [];
const directories: Removal[] = [];
const databases: DatabaseTraces[] = [];
let lostNpmAt: number | null = null;

// Nothing but the pipe's end or an order stops the watchdog.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined);

const orders = createInterface({ input: process.stdin });
orders.on('line', (line) => {
  const order = JSON.parse(line) as WatchdogOrder;
  switch (order.order) {
    case 'demo':
      demo = order.demo;
      ancestors = order.ancestors;
      break;
    case 'end':
      processes.push(order);
      break;
    case 'endMarked':
      marks.push(order.mark);
      break;
    case 'remove':
      directories.push(order.directory);
      break;
    case 'clean':
      databases.push(order.traces);
      break;
    case 'done':
      process.exit(0);
  }
});
orders.once('close', () => void clearUp().finally(() => process.exit(0)));

setInterval(() => {
  if (!demo || ancestors.every(isAlive)) return;
  lostNpmAt ??= Date.now();
  // Asked first, because it clears up in order; its end is the pipe's end.
  signal(demo, Date.now() - lostNpmAt < DEMO_GRACE_MS ? 'SIGTERM' : 'SIGKILL');
}, LOOK_EVERY_MS);

/** Ends every process, newest first; then removes data, keys and database. One failure does not keep the rest. */
async function clearUp(): Promise<void> {
  for (const { process: target, by } of processes.reverse()) {
    if (by === 'SIGKILL') endTree(target);
    else signal(target, by);
  }
  const deadline = Date.now() + END_DEADLINE_MS;
  while (processes.some((each) => isAlive(each.process)) && Date.now() < deadline) await delay(20);
  const rest: (() => Promise<void> | void)[] = [
    ...marks.reverse().map((mark) => () => endMarked(mark)),
    ...directories.reverse().map((directory) => () => {
      removeDirectory(directory);
    }),
    ...databases.map((traces) => () => clean(traces)),
  ];
  for (const act of rest) {
    try {
      await act();
    } catch {
      // Nobody is left to be told.
    }
  }
}

async function clean(traces: DatabaseTraces): Promise<void> {
  // Loaded only where a server stays: the driver would triple the watchdog's memory.
  const { connect, removeTraces } = await import('./database.js');
  const server = await connect(traces.serverUrl);
  await removeTraces(server, traces).finally(() => server.end());
}
