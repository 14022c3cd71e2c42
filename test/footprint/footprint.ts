import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Program } from '../../apps/cli/src/demo/program.js';
import { figureOf, type Figure } from '../bench/figures.js';
import { programFile } from '../support/built-program.js';
import { Deployment } from '../support/deployment.js';
import { TestDatabase } from '../support/postgres.js';
import { ageMs, residentMiB } from '../support/process-stat.js';
import { logged } from '../support/programs.js';
import { onlyFor, publication } from '../support/published-task.js';
import { until } from '../support/until.js';
import { CENSUS_SETTING, loadedBy, sizeOf, type Loaded } from './running-program.js';

/** What one kind of program takes, over the rounds. */
export interface Takes {
  readonly loaded: Loaded;
  /** Of what `npm run build` made of it, source maps included; of the bare context nothing is built. */
  readonly builtBytes: number | null;
  /** Bare: the context exists. Control: both listeners listen. Worker: control has registered it. */
  readonly startMs: Figure;
  readonly idleMiB: Figure;
}

export interface FootprintReport {
  readonly node: string;
  readonly rounds: number;
  readonly bare: Takes;
  readonly control: Takes;
  readonly worker: Takes & {
    /** Due a third of a session's duration after registering; the session here is the shortest there is, of 5 s. */
    readonly firstHeartbeatMs: Figure;
    readonly oneSlotMiB: Figure;
    readonly manySlotsMiB: Figure;
    /** What each of many slots adds in which a task runs. */
    readonly perSlotMiB: Figure;
  };
  /** The idle worker's memory over the bare context's, round by round. */
  readonly ratio: Figure;
}

/** The most that the idle worker may take, in bare contexts. */
export const MAX_RATIO = 1.5;
export const MANY_SLOTS = 16;
/** After a start or the last task's: what compiles and collects then is done. */
const SETTLE_MS = 2000;

interface Sample {
  readonly loaded: Loaded;
  readonly startMs: number;
  readonly idleMiB: number;
}

interface WorkerSample extends Sample {
  readonly firstHeartbeatMs: number;
  readonly busyMiB: number;
}

interface Round {
  readonly bare: Sample;
  readonly control: Sample;
  readonly one: WorkerSample;
  readonly many: WorkerSample;
}

/** Every program in turn, so many times. */
export async function measureFootprint(rounds: number): Promise<FootprintReport> {
  const database = await TestDatabase.create();
  try {
    const samples: Round[] = [];
    while (samples.length < rounds) samples.push(await measureRound(database));
    return reportOf(samples);
  } finally {
    await database.drop();
  }
}

async function measureRound(database: TestDatabase): Promise<Round> {
  const bare = await measureBare();
  const deployment = await Deployment.start(database, CENSUS_SETTING);
  try {
    deployment.secrets.layDefaults();
    // Control says `listening` before it is asked; its own clock is as good as ours.
    const { control: program } = deployment;
    const listening = program.lines.find(({ event }) => event === 'listening');
    const startMs = ageMs(program.pid) - (Date.now() - Date.parse(String(listening?.time)));
    const control = { startMs, ...(await atRest(program)) };
    const one = await measureWorker(deployment, 1);
    return { bare, control, one, many: await measureWorker(deployment, MANY_SLOTS) };
  } finally {
    await deployment.stop();
  }
}

async function measureBare(): Promise<Sample> {
  const directory = mkdtempSync(join(tmpdir(), 'valise-footprint-'));
  const program = Program.start({
    name: 'bare',
    file: join(__dirname, 'bare.cjs'),
    environment: { ...CENSUS_SETTING, PATH: process.env.PATH ?? '' },
    workingDirectory: directory,
    logFile: join(directory, 'bare.log'),
  });
  try {
    await logged(program, 'ready');
    return { startMs: ageMs(program.pid), ...(await atRest(program)) };
  } finally {
    await program.stop();
    rmSync(directory, { recursive: true });
  }
}

/** A worker with nothing to do, and then with a task in each of its slots. */
async function measureWorker(deployment: Deployment, slots: number): Promise<WorkerSample> {
  const workerId = `footprint-${randomUUID()}`;
  await deployment.allow(workerId, { labels: { worker: workerId } });
  const program = await deployment.startWorker(workerId, { ...CENSUS_SETTING, VALISE_SLOTS: String(slots) });
  try {
    await logged(program, 'registered');
    const startMs = ageMs(program.pid);
    await until('the first heartbeat', () => hasBeat(deployment, workerId));
    const firstHeartbeatMs = ageMs(program.pid);
    const idle = await atRest(program);
    await Promise.all(Array.from({ length: slots }, () => deployment.run(longTask(workerId))));
    await until(
      'a task in each slot',
      () => program.lines.filter(({ event }) => event === 'running_acknowledged').length === slots,
    );
    await delay(SETTLE_MS);
    return { ...idle, startMs, firstHeartbeatMs, busyMiB: residentMiB(program.pid) };
  } finally {
    await program.stop();
  }
}

async function atRest(program: Program): Promise<Omit<Sample, 'startMs'>> {
  await delay(SETTLE_MS);
  const idleMiB = residentMiB(program.pid);
  return { idleMiB, loaded: await loadedBy(program) };
}

async function hasBeat({ database }: Deployment, workerId: string): Promise<boolean> {
  const beats = await database.query('SELECT 1 FROM worker_sessions WHERE worker_id = $1 AND version > 0', [
    workerId,
  ]);
  return beats.length > 0;
}

/** With one secret and a bundle, for longer than anybody looks. */
function longTask(workerId: string): ReturnType<typeof onlyFor> {
  const { spec } = publication(onlyFor(workerId));
  const command = { kind: 'argv', file: '/bin/sleep', args: ['600'] };
  return { spec: { ...spec, config: { ...(spec.config as object), command } } };
}

function reportOf(rounds: readonly Round[]): FootprintReport {
  const over = (read: (round: Round) => number): Figure => figureOf(rounds.map(read));
  const takes = (read: (round: Round) => Sample, builtBytes: number | null): Takes => ({
    loaded: read(rounds[0]!).loaded,
    builtBytes,
    startMs: over((round) => read(round).startMs),
    idleMiB: over((round) => read(round).idleMiB),
  });
  return {
    node: process.versions.node,
    rounds: rounds.length,
    bare: takes(({ bare }) => bare, null),
    control: takes(({ control }) => control, builtBytesOf('control')),
    worker: {
      ...takes(({ one }) => one, builtBytesOf('worker')),
      firstHeartbeatMs: over(({ one }) => one.firstHeartbeatMs),
      oneSlotMiB: over(({ one }) => one.busyMiB),
      manySlotsMiB: over(({ many }) => many.busyMiB),
      perSlotMiB: over(({ one, many }) => (many.busyMiB - one.busyMiB) / (MANY_SLOTS - 1)),
    },
    ratio: over(({ bare, one }) => one.idleMiB / bare.idleMiB),
  };
}

/** `…/dist/<name>`, above `apps/<name>/src/main.js`. */
const builtBytesOf = (name: 'control' | 'worker'): number => sizeOf(join(programFile(name), '../../../..'));
