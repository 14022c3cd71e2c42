import { cpus, loadavg, totalmem } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { populate } from '../load/population.js';
import { Deployment } from '../support/deployment.js';
import { LeaseStock, type Material, type StockWorker, stockWorkers } from '../support/lease-stock.js';
import { TestDatabase } from '../support/postgres.js';
import { World } from '../support/world.js';
import { DATABASE_CONNECTIONS, recordProtocol, startFloor, type Protocol } from './contestants.js';
import { performanceOf, ratioOf, type Figure, type Performance } from './figures.js';
import { measure, type LoadShape, type Sample, type Server } from './load.js';
import { measureMasking, type Masking } from './masking.js';
import { bundleOf, entriesOf, secretsOf } from './material.js';
import { residentMiB } from './process-cost.js';
import { measureThroughput, type Throughput } from './throughput.js';

export interface BenchOptions {
  readonly full: boolean;
  /** Of each contestant, for each row. */
  readonly rounds: number;
  readonly say: (line: string) => void;
}

/** One load, done by Valise and by what it is compared with. */
export interface Row {
  readonly name: string;
  readonly connections: number;
  readonly keepAlive: boolean;
  readonly answerBytes: number;
  readonly valise: Performance;
  readonly other: Performance;
  /** Valise over the other, round by round. */
  readonly cpuRatio: Figure;
  readonly p99Ratio: Figure;
  readonly throughputRatio: Figure;
}

export interface BenchReport {
  readonly machine: { readonly cpus: number; readonly memoryGiB: number; readonly node: string };
  /** Of the machine over one minute, when the run began and ended. */
  readonly load: { readonly before: number; readonly after: number };
  readonly rounds: number;
  readonly statementsPerDelivery: number;
  readonly roundTripsPerDelivery: number;
  /** Against the floor. */
  readonly rows: readonly Row[];
  /** Against Valise itself over a small table. */
  readonly growth: readonly Row[];
  /** In the worker. */
  readonly masking: Masking;
  /** Of the worker. */
  readonly tasks: Throughput;
  readonly memory: { readonly idleMiB: number; readonly loadedMiB: number; readonly ratio: number };
}

interface Contest {
  readonly name: string;
  readonly material: Material;
  readonly shapes: readonly LoadShape[];
}

const WORKERS = 64;
const CLAIMS_PER_WORKER = 24;
/** Code is compiled by what it is used for; a server is measured as it is after its first minute. */
const WARM_UP = { connections: 16, keepAlive: true, requests: 2000 };
const IDLE_AFTER_MS = 2000;
const MEMORY_SHAPE = { connections: 64, keepAlive: true, requests: 1280 };

const kept = (connections: number, requests: number): LoadShape => ({
  connections,
  keepAlive: true,
  requests,
});
const shaken = (connections: number, requests: number): LoadShape => ({
  connections,
  keepAlive: false,
  requests,
});

function contestsOf(full: boolean): Contest[] {
  const judged = kept(16, 800);
  if (!full) {
    return [
      { name: 'bundle of 16 KiB', material: bundleOf(16), shapes: [judged, kept(1, 150), shaken(16, 240)] },
      { name: 'bundle of 96 KiB', material: bundleOf(96), shapes: [kept(64, 640)] },
      { name: '64 secrets', material: secretsOf(64), shapes: [kept(16, 320)] },
    ];
  }
  const grid = [1, 16, 64].flatMap((connections) => [
    kept(connections, connections === 1 ? 150 : 800),
    shaken(connections, connections === 1 ? 100 : 320),
  ]);
  return [
    ...[1, 16, 96].map((kib) => ({ name: `bundle of ${kib} KiB`, material: bundleOf(kib), shapes: grid })),
    ...[1, 16, 64].map((count) => ({
      name: `${count} secrets`,
      material: secretsOf(count),
      shapes: [kept(16, 400)],
    })),
    ...[1, 16, 256].map((count) => ({
      name: `bundle of ${count} entries`,
      material: entriesOf(count),
      shapes: [kept(16, 400)],
    })),
  ];
}

/** Measures everything. The machine should have nothing else to do; ratios bear it when it has. */
export async function runBench(options: BenchOptions): Promise<BenchReport> {
  const before = loadavg()[0] ?? NaN;
  const arena = await Arena.open();
  try {
    const { protocol } = arena;
    const idleMiB = await arena.idleMiB();
    const loadedMiB = await arena.loadedMiB();
    await arena.warmUp();
    const rows: Row[] = [];
    for (const contest of contestsOf(options.full)) rows.push(...(await arena.contest(contest, options)));
    const growth = await measureGrowth(options, options.full ? [100_000, 1_000_000] : [100_000]);
    return {
      machine: {
        cpus: cpus().length,
        memoryGiB: Math.round(totalmem() / 1024 ** 3),
        node: process.versions.node,
      },
      load: { before, after: loadavg()[0] ?? NaN },
      rounds: options.rounds,
      statementsPerDelivery: protocol.statements.length,
      roundTripsPerDelivery: protocol.roundTrips,
      rows,
      growth,
      masking: measureMasking(options.rounds),
      tasks: await measureThroughput(),
      memory: { idleMiB, loadedMiB, ratio: loadedMiB / idleMiB },
    };
  } finally {
    await arena.close();
  }
}

/** Both contestants over one database. */
class Arena {
  private constructor(
    private readonly database: TestDatabase,
    private readonly deployment: Deployment,
    private readonly floor: Server & { stop(): Promise<void> },
    private readonly workers: readonly StockWorker[],
    readonly protocol: Protocol,
  ) {}

  static async open(): Promise<Arena> {
    const database = await TestDatabase.create();
    const protocol = await recordProtocol(database);
    const deployment = await Deployment.start(database, {
      VALISE_INGRESS_DATABASE_CONNECTIONS: String(DATABASE_CONNECTIONS),
    });
    const floor = await startFloor(deployment, protocol);
    return new Arena(database, deployment, floor, await stockWorkers(deployment, WORKERS), protocol);
  }

  async contest({ name, material, shapes }: Contest, { rounds, say }: BenchOptions): Promise<Row[]> {
    const stock = await this.stock(material);
    const rows: Row[] = [];
    for (const shape of shapes) {
      const [valise, other] = await interleaved(rounds, [
        () => measure(this.valise, stock, this.workers, shape),
        () => measure(this.floor, stock, this.workers, shape),
      ]);
      rows.push(rowOf(name, shape, valise, other));
      say(lineOf(rows.at(-1)!));
    }
    return rows;
  }

  async warmUp(): Promise<void> {
    const stock = await this.stock(bundleOf(16));
    for (const server of [this.floor, this.valise]) await measure(server, stock, this.workers, WARM_UP);
  }

  /** After the start, when nobody has asked for anything but a first delivery. */
  async idleMiB(): Promise<number> {
    const stock = await this.stock(bundleOf(96));
    await measure(this.valise, stock, this.workers, kept(1, 8));
    await delay(IDLE_AFTER_MS);
    return residentMiB(this.valise.pid);
  }

  async loadedMiB(): Promise<number> {
    const stock = await this.stock(bundleOf(96));
    return (await measure(this.valise, stock, this.workers, MEMORY_SHAPE)).peakResidentMiB;
  }

  async close(): Promise<void> {
    await this.floor.stop();
    await this.deployment.stop();
    await this.database.drop();
  }

  private get valise(): Server {
    return { pid: this.deployment.control.pid, port: this.deployment.ports.ingress };
  }

  private stock(material: Material): Promise<LeaseStock> {
    return LeaseStock.prepare(this.deployment, this.workers, CLAIMS_PER_WORKER, material);
  }
}

/** Valise over a large table beside Valise over a small one, each with a PostgreSQL of its own. */
async function measureGrowth({ rounds, say }: BenchOptions, attempts: readonly number[]): Promise<Row[]> {
  const shape = kept(16, 800);
  const small = await Household.open(0);
  const rows: Row[] = [];
  try {
    for (const count of attempts) {
      const large = await Household.open(count);
      try {
        for (const household of [small, large]) await household.measure(WARM_UP);
        const [grown, other] = await interleaved(rounds, [
          () => large.measure(shape),
          () => small.measure(shape),
        ]);
        rows.push(rowOf(`${count} attempts beside 1000`, shape, grown, other));
        say(lineOf(rows.at(-1)!));
      } finally {
        await large.close();
      }
    }
  } finally {
    await small.close();
  }
  return rows;
}

/** A control with a database that has so many attempts beside the thousand that are delivered to. */
class Household {
  private constructor(
    private readonly database: TestDatabase,
    private readonly deployment: Deployment,
    private readonly workers: readonly StockWorker[],
    private readonly stock: LeaseStock,
  ) {}

  static async open(attempts: number): Promise<Household> {
    const database = await TestDatabase.create();
    if (attempts > 0) {
      const world = await World.create(database);
      await populate(world, database, attempts);
      await world.close();
    }
    const deployment = await Deployment.start(database);
    const workers = await stockWorkers(deployment, 16);
    const stock = await LeaseStock.prepare(deployment, workers, 63, bundleOf(16));
    return new Household(database, deployment, workers, stock);
  }

  measure(shape: LoadShape): Promise<Sample> {
    const { control, ports } = this.deployment;
    return measure({ pid: control.pid, port: ports.ingress }, this.stock, this.workers, shape);
  }

  async close(): Promise<void> {
    await this.deployment.stop();
    await this.database.drop();
  }
}

/** So many rounds of both, each time the other one first. */
async function interleaved(
  rounds: number,
  [one, other]: readonly [() => Promise<Sample>, () => Promise<Sample>],
): Promise<[Sample[], Sample[]]> {
  const samples: [Sample[], Sample[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) samples[1].push(await other());
    samples[0].push(await one());
    if (round % 2 === 1) samples[1].push(await other());
  }
  return samples;
}

function rowOf(
  name: string,
  { connections, keepAlive }: LoadShape,
  valise: readonly Sample[],
  other: readonly Sample[],
): Row {
  return {
    name,
    connections,
    keepAlive,
    answerBytes: valise[0]?.answerBytes ?? 0,
    valise: performanceOf(valise),
    other: performanceOf(other),
    cpuRatio: ratioOf(valise, other, ({ cpuMsPerRequest }) => cpuMsPerRequest),
    p99Ratio: ratioOf(valise, other, ({ p99Ms }) => p99Ms),
    throughputRatio: ratioOf(valise, other, ({ requestsPerSecond }) => requestsPerSecond),
  };
}

function lineOf({ name, connections, keepAlive, cpuRatio, p99Ratio }: Row): string {
  const how = keepAlive ? 'keep-alive' : 'a handshake each';
  return `${name}, ${connections} connections, ${how}: CPU ${cpuRatio.median.toFixed(2)} ×, p99 ${p99Ratio.median.toFixed(2)} ×`;
}
