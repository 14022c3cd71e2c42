import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Program } from '../../apps/cli/src/demo/program.js';
import { writeHandover } from '../../apps/worker/src/execution/handover.js';
import { LAUNCH_SCRIPT, LAUNCH_SHELL } from '../../apps/worker/src/execution/launch-shell.js';
import { UNPRIVILEGED } from '../../apps/worker/src/execution/unprivileged.js';
import { Deployment } from '../support/deployment.js';
import { TestDatabase } from '../support/postgres.js';
import { cpuMsOf } from '../support/process-stat.js';
import { logged } from '../support/programs.js';
import { onlyFor, PROJECT, publication } from '../support/published-task.js';
import { until } from '../support/until.js';
import { figureOf, type Figure } from './figures.js';
import { bundleOf } from './material.js';

/** What a worker spends on short tasks, beside a program that only starts the same command. */
export interface Throughput {
  readonly tasks: number;
  readonly slots: number;
  /** CPU of the worker itself for each task, what its children use not counted; in milliseconds. */
  readonly workerMs: Figure;
  /** The same of the program that only starts. */
  readonly startMs: Figure;
  /** The difference, round by round. */
  readonly beyondStartMs: Figure;
  readonly tasksPerSecond: Figure;
}

const TASKS = 500;
const WARM_UP_TASKS = 50;
const SLOTS = 16;
const WORKER = 'throughput';
const COMMAND = '/bin/true';
const BUNDLE_KIB = 16;
const DEADLINE_MS = 600_000;
const PATIENCE = { deadlineMs: DEADLINE_MS, everyMs: 20 };

/** 500 tasks of nothing, with a bundle of 16 KiB each, through one worker with 16 slots. */
export async function measureThroughput(rounds: number): Promise<Throughput> {
  const database = await TestDatabase.create();
  const deployment = await Deployment.start(database);
  try {
    const taskId = await publish(deployment);
    await deployment.allow(WORKER, { status: 'draining', labels: { worker: WORKER } });
    const worker = await deployment.startWorker(WORKER, { VALISE_SLOTS: String(SLOTS) });
    await logged(worker, 'registered');
    await measureTasks(deployment, worker, taskId, WARM_UP_TASKS);
    const samples: { workerMs: number; startMs: number; tasksPerSecond: number }[] = [];
    while (samples.length < rounds) {
      const startMs = await measureStarts();
      samples.push({ startMs, ...(await measureTasks(deployment, worker, taskId, TASKS)) });
    }
    return {
      tasks: TASKS,
      slots: SLOTS,
      workerMs: figureOf(samples.map(({ workerMs }) => workerMs)),
      startMs: figureOf(samples.map(({ startMs }) => startMs)),
      beyondStartMs: figureOf(samples.map(({ workerMs, startMs }) => workerMs - startMs)),
      tasksPerSecond: figureOf(samples.map(({ tasksPerSecond }) => tasksPerSecond)),
    };
  } finally {
    await deployment.stop();
    await database.drop();
  }
}

async function publish(deployment: Deployment): Promise<string> {
  const { bundle } = bundleOf(BUNDLE_KIB);
  if (!bundle) throw new Error('the material has a bundle');
  deployment.secrets.lay(bundle.reference, bundle.carrier);
  const taskId = `task-${randomUUID()}`;
  const { spec } = publication(onlyFor(WORKER));
  const config = { ...(spec.config as object), environment: [], environmentBundleRef: bundle.reference };
  await deployment.management.publish(PROJECT, taskId, publication({ spec: { ...spec, config } }));
  return taskId;
}

/** All of them wait before the worker may claim the first. */
async function measureTasks(
  deployment: Deployment,
  worker: Program,
  taskId: string,
  count: number,
): Promise<{ workerMs: number; tasksPerSecond: number }> {
  const { management } = deployment;
  const labels = { worker: WORKER };
  await deployment.allow(WORKER, { status: 'draining', labels });
  for (let started = 0; started < count; started += 1) {
    await management.startRun(PROJECT, taskId, { mutationId: randomUUID() });
  }
  const succeeded = (): number =>
    worker.lines.filter(({ event, outcome }) => event === 'completed' && outcome === 'succeeded').length;
  const wanted = succeeded() + count;
  const cpuBefore = cpuMsOf(worker.pid);
  const startedAt = performance.now();
  await deployment.allow(WORKER, { labels });
  await until('the success of every task', () => succeeded() >= wanted, PATIENCE);
  const seconds = (performance.now() - startedAt) / 1000;
  return { workerMs: (cpuMsOf(worker.pid) - cpuBefore) / count, tasksPerSecond: count / seconds };
}

/** CPU for each start, in milliseconds. */
async function measureStarts(): Promise<number> {
  const values = Array.from({ length: BUNDLE_KIB }, (_, index) => ({
    name: `ENTRY_${index}`,
    value: Buffer.alloc(1024, 'x'),
  }));
  const [file, ...args] = [...UNPRIVILEGED, LAUNCH_SHELL, '-c'];
  const child = spawn(process.execPath, [join(__dirname, 'spawn-floor.mjs')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(
    JSON.stringify({
      file,
      args: [...args, LAUNCH_SCRIPT, 'sh', '/', COMMAND],
      handover: writeHandover(values).toString('latin1'),
      times: TASKS,
      atOnce: SLOTS,
    }),
  );
  const { cpuMs } = JSON.parse(await text(child.stdout)) as { cpuMs: number };
  return cpuMs / TASKS;
}
