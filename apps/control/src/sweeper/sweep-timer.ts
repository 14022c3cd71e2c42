import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';
import { SweeperService } from '@valise/authority';
import { ControlConfig } from '../config/control-config.js';
import { LOG } from '../http/log.js';

/** Sweeps again and again, one sweep at a time, as long as the program lives. */
@Injectable()
export class SweepTimer implements OnApplicationBootstrap, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> = Promise.resolve();

  constructor(
    private readonly sweeper: SweeperService,
    private readonly config: ControlConfig,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  onApplicationBootstrap(): void {
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
    }, this.config.sweepIntervalMs);
  }

  /** What fails (the database is away, or one row is damaged) is tried again at a later tick. */
  private async sweep(): Promise<void> {
    const { failures, ...counts } = await this.sweeper.sweep();
    if (Object.values(counts).some((count) => count > 0))
      this.log.info({ event: 'swept', ...counts }, 'swept');
    for (const { step, runId, error } of failures) {
      this.log.error({ err: error, event: 'sweep_failed', step, runId }, 'a part of the sweep failed');
    }
    if (this.timer) this.schedule();
  }
}
