import { type DynamicModule, Global, Module } from '@nestjs/common';
import type { Logger } from 'pino';
import { ControlConfig } from './config/control-config.js';
import { LOG } from './http/log.js';

/** What every application of the program shares: its configuration and its log. */
@Global()
@Module({})
export class ProgramModule {
  static forRoot(config: ControlConfig, log: Logger): DynamicModule {
    const providers = [
      { provide: ControlConfig, useValue: config },
      { provide: LOG, useValue: log },
    ];
    return { module: ProgramModule, providers, exports: providers };
  }
}
