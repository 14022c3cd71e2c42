import { type DynamicModule, Global, Module } from '@nestjs/common';
import type { Logger } from 'pino';
import { LOG } from './log/log.js';
import { Metrics } from './metrics/metrics.js';
import { Transport } from './tls/transport.js';

/** What all applications of the program have in common. */
export interface Program {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly transport: Transport;
}

/** Provides the program's log, its metrics and its mutual TLS. */
@Global()
@Module({})
export class ProgramModule {
  static forRoot({ log, metrics, transport }: Program): DynamicModule {
    const providers = [
      { provide: LOG, useValue: log },
      { provide: Metrics, useValue: metrics },
      { provide: Transport, useValue: transport },
    ];
    return { module: ProgramModule, providers, exports: providers };
  }
}
