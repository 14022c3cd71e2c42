import { type DynamicModule, Module } from '@nestjs/common';
import { AuthorityModule } from '@valise/authority';
import type { ManagementConfig } from '../config/control-config.js';
import { type Program, ProgramModule } from '../program.module.js';
import { SWEEP_INTERVAL_MS, SweepTimer } from './sweep-timer.js';

/** One sweep at a time. */
const POOL_SIZE = 1;
const DAY_MS = 86_400_000;

/** The clock's work, with the database role valise_sweeper. */
@Module({})
export class SweeperModule {
  static forRoot(program: Program, config: ManagementConfig): DynamicModule {
    return {
      module: SweeperModule,
      imports: [
        ProgramModule.forRoot(program),
        AuthorityModule.forRoot({
          url: config.sweeperDatabaseUrl,
          applicationName: 'valise-sweeper',
          poolSize: POOL_SIZE,
          settings: { artifactLifetimeMs: config.logRetentionDays * DAY_MS },
        }),
      ],
      providers: [SweepTimer, { provide: SWEEP_INTERVAL_MS, useValue: config.sweepIntervalMs }],
    };
  }
}
