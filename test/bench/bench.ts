import { cpus, loadavg, totalmem } from 'node:os';
import { Arena } from './arena.js';
import type { BenchOptions } from './bench-options.js';
import { contestsOf } from './contests.js';
import { measureGrowth } from './growth.js';
import { measureMasking, type Masking } from './masking.js';
import type { Row } from './row.js';
import { measureThroughput, type Throughput } from './throughput.js';

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
      masking: await measureMasking(options.rounds),
      tasks: await measureThroughput(options.rounds),
      memory: { idleMiB, loadedMiB, ratio: loadedMiB / idleMiB },
    };
  } finally {
    await arena.close();
  }
}
