import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';
import { SweeperService, type SweepReport } from '@valise/authority';
import { LOG } from '../log/log.js';
import type { LabelsOf } from '../metrics/catalogue.js';
import { Metrics } from '../metrics/metrics.js';

/** Injects how often to sweep. */
export const SWEEP_INTERVAL_MS = Symbol('sweep interval');

type Act = keyof Omit<SweepReport, 'failures'>;

/** What the sweeper did, as the metric names it. */
const ACTS: Readonly<Record<Act, LabelsOf<'valise_swept_total'>['act']>> = {
  requeued: 'requeued',
  ended: 'ended',
  waiting: 'waiting',
  stopsRequested: 'stops_requested',
  sessionsEnded: 'sessions_ended',
  uploadsRemoved: 'uploads_removed',
  artifactsRemoved: 'artifacts_removed',
};

/** Sweeps again and again, one sweep at a time, as long as the program lives. */
@Injectable()
export class SweepTimer implements OnApplicationBootstrap, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> = Promise.resolve();
  private sweptAtMs = performance.now();

  constructor(
    private readonly sweeper: SweeperService,
    @Inject(SWEEP_INTERVAL_MS) private readonly intervalMs: number,
    @Inject(LOG) private readonly log: Logger,
    private readonly metrics: Metrics,
  ) {}

  onApplicationBootstrap(): void {
    this.metrics.read('valise_sweeper_lag_seconds', (report) => {
      report({}, (performance.now() - this.sweptAtMs) / 1000);
    });
    this.schedule();
  }

  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.sweeping;
  }

  private schedule(): void {
    this.timer = setTimeout(() => {
      this.sweeping = this.sweep();
    }, this.intervalMs);
  }

  /** What fails (the database is away, or one row is damaged) is tried again at a later tick. */
  private async sweep(): Promise<void> {
    const startedAtMs = performance.now();
    const report = await this.sweeper.sweep();
    this.metrics.observe('valise_sweep_duration_seconds', {}, (performance.now() - startedAtMs) / 1000);
    this.record(report);
    if (report.failures.length === 0) this.sweptAtMs = performance.now();
    if (this.timer) this.schedule();
  }

  private record({ failures, ...counts }: SweepReport): void {
    const acts = Object.entries(counts) as [Act, number][];
    for (const [act, count] of acts) this.metrics.count('valise_swept_total', { act: ACTS[act] }, count);
    if (acts.some(([, count]) => count > 0)) this.log.info({ event: 'swept', ...counts }, 'swept');
    for (const { step, runId, error } of failures) {
      this.metrics.count('valise_sweep_failures_total', { step });
      this.log.error({ err: error, event: 'sweep_failed', step, runId }, 'a part of the sweep failed');
    }
  }
}
