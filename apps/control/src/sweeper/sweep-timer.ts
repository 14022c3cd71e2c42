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

  /** A sweep that fails (the database is away) is tried again at the next tick. */
  private async sweep(): Promise<void> {
    try {
      const report = await this.sweeper.sweep();
      if (Object.values(report).some((count) => count > 0))
        this.log.info({ event: 'swept', ...report }, 'swept');
    } catch (error) {
      this.log.error({ err: error, event: 'sweep_failed' }, 'the sweep failed');
    }
    if (this.timer) this.schedule();
  }
}
