import { type DynamicModule, Module } from '@nestjs/common';
import { AuthorityModule } from '@valise/authority';
import type { Logger } from 'pino';
import type { ControlConfig } from './config/control-config.js';
import { HealthController } from './health/health.controller.js';
import { ProgramModule } from './program.module.js';
import { SweepTimer } from './sweeper/sweep-timer.js';

/** One connection for the sweeper, one so that health never waits for it. */
const POOL_SIZE = 2;

/** The plain address and the clock's work, with the database role valise_sweeper. */
@Module({})
export class PlainModule {
  static forRoot(config: ControlConfig, log: Logger): DynamicModule {
    return {
      module: PlainModule,
      imports: [
        ProgramModule.forRoot(config, log),
        AuthorityModule.forRoot({
          url: config.sweeperDatabaseUrl,
          applicationName: 'valise-sweeper',
          poolSize: POOL_SIZE,
        }),
      ],
      controllers: [HealthController],
      providers: [SweepTimer],
    };
  }
}
