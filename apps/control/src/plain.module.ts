import { type DynamicModule, Module } from '@nestjs/common';
import { HealthController } from './health/health.controller.js';
import { Readiness } from './health/readiness.js';
import { MetricsController } from './metrics/metrics.controller.js';
import { type Program, ProgramModule } from './program.module.js';

/** The plain address: what the program says of itself, to an orchestrator and to Prometheus. */
@Module({})
export class PlainModule {
  static forRoot(program: Program, readiness: Readiness): DynamicModule {
    return {
      module: PlainModule,
      imports: [ProgramModule.forRoot(program)],
      controllers: [HealthController, MetricsController],
      providers: [{ provide: Readiness, useValue: readiness }],
    };
  }
}
