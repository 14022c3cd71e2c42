import type { Figure } from '../bench/figures.js';
import { MANY_SLOTS, MAX_RATIO, type FootprintReport, type Takes } from './footprint.js';

/** The report as a table, for docs/performance.md. */
export function toTable({ node, rounds, bare, control, worker, ratio }: FootprintReport): string {
  return [
    `Node ${node}, ${rounds} rounds.`,
    '| | files loaded | of code | built | start ms | idle MiB |',
    '| --- | --- | --- | --- | --- | --- |',
    row('bare Nest context', bare),
    row('worker', worker),
    row('control', control),
    '',
    `Worker: first heartbeat after ${spread(worker.firstHeartbeatMs, 0)} ms; ` +
      `${spread(worker.oneSlotMiB, 0)} MiB with a task, ${spread(worker.manySlotsMiB, 0)} with ${MANY_SLOTS} at once: ` +
      `${spread(worker.perSlotMiB, 2)} for each slot.`,
    `Idle worker beside the bare context: ${spread(ratio, 2)} × (at most ${MAX_RATIO}).`,
  ].join('\n');
}

function row(name: string, { loaded, builtBytes, startMs, idleMiB }: Takes): string {
  const built = builtBytes === null ? '' : mib(builtBytes);
  const cells = [name, loaded.modules, mib(loaded.bytes), built, spread(startMs, 0), spread(idleMiB, 0)];
  return `| ${cells.join(' | ')} |`;
}

const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

const spread = ({ median, least, most }: Figure, digits: number): string =>
  `**${median.toFixed(digits)}** (${least.toFixed(digits)}–${most.toFixed(digits)})`;
