import type { BenchReport } from './bench.js';
import type { Figure } from './figures.js';
import type { Row } from './row.js';

/** The report as tables of ratios, for docs/performance.md. */
export function toTables(report: BenchReport): string {
  const { machine, load, rounds, memory, masking, tasks } = report;
  return [
    `${machine.cpus} CPUs, ${machine.memoryGiB} GiB, Node ${machine.node}; load ${load.before.toFixed(1)} before, ${load.after.toFixed(1)} after; ${rounds} rounds.`,
    `One delivery: ${report.statementsPerDelivery} statements in ${report.roundTripsPerDelivery} round trips.`,
    `Memory: ${memory.loadedMiB.toFixed(0)} MiB under 64 connections × 96 KiB, ${memory.ratio.toFixed(2)} × the ${memory.idleMiB.toFixed(0)} MiB when idle.`,
    `Masking with ${masking.values} values: ${spread(masking.maskedMbPerSecond)} MB for each second of CPU; copying: ${spread(masking.copiedMbPerSecond)}.`,
    `A short task: ${spread(tasks.workerMs)} ms of the worker's CPU, ${spread(tasks.beyondStartMs)} beyond its start; ${spread(tasks.tasksPerSecond)} tasks/s with ${tasks.slots} slots.`,
    table('beside the floor', report.rows),
    table('beside a small database', report.growth),
  ].join('\n\n');
}

function table(title: string, rows: readonly Row[]): string {
  return [
    `| ${title} | connections | handshake | CPU × | p99 × | throughput × | CPU ms | p50 ms | p95 ms | p99 ms |`,
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows.map(
      ({ name, connections, keepAlive, cpuRatio, p99Ratio, throughputRatio, valise }) =>
        `| ${name} | ${connections} | ${keepAlive ? 'once' : 'each'} | ${spread(cpuRatio)} | ${spread(p99Ratio)} | ${spread(throughputRatio)} | ${valise.cpuMsPerRequest.median.toFixed(2)} | ${valise.p50Ms.median.toFixed(0)} | ${valise.p95Ms.median.toFixed(0)} | ${valise.p99Ms.median.toFixed(0)} |`,
    ),
  ].join('\n');
}

const spread = ({ median, least, most }: Figure): string =>
  `**${median.toFixed(2)}** (${least.toFixed(2)}–${most.toFixed(2)})`;
