import { populate } from '../load/population.js';
import { Deployment } from '../support/deployment.js';
import { LeaseStock, stockWorkers } from '../support/lease-stock.js';
import type { PlayedWorker } from '../support/played-worker.js';
import { TestDatabase } from '../support/postgres.js';
import { World } from '../support/world.js';
import type { BenchOptions } from './bench-options.js';
import { kept, WARM_UP } from './contests.js';
import { interleaved, measure, type LoadShape, type Sample } from './load.js';
import { bundleOf } from './material.js';
import { lineOf, rowOf, type Row } from './row.js';

/** Valise over a large table beside Valise over a small one, each with a PostgreSQL of its own. */
export async function measureGrowth(
  { rounds, say }: BenchOptions,
  attempts: readonly number[],
): Promise<Row[]> {
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
    private readonly workers: readonly PlayedWorker[],
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
