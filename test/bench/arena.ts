import { setTimeout as delay } from 'node:timers/promises';
import { Deployment } from '../support/deployment.js';
import { LeaseStock, type Material, stockWorkers } from '../support/lease-stock.js';
import type { PlayedWorker } from '../support/played-worker.js';
import { TestDatabase } from '../support/postgres.js';
import { residentMiB } from '../support/process-stat.js';
import type { BenchOptions } from './bench-options.js';
import { DATABASE_CONNECTIONS, recordProtocol, startFloor, type Protocol } from './contestants.js';
import { kept, WARM_UP, type Contest } from './contests.js';
import { interleaved, measure, type Server } from './load.js';
import { bundleOf } from './material.js';
import { lineOf, rowOf, type Row } from './row.js';

const WORKERS = 64;
const CLAIMS_PER_WORKER = 24;
const IDLE_AFTER_MS = 2000;
const MEMORY_SHAPE = { connections: 64, keepAlive: true, requests: 1280 };

/** Both contestants over one database. */
export class Arena {
  private constructor(
    private readonly database: TestDatabase,
    private readonly deployment: Deployment,
    private readonly floor: Server & { stop(): Promise<void> },
    private readonly workers: readonly PlayedWorker[],
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
