import { Global, Module } from '@nestjs/common';
import { readConfig } from './read-config.js';
import { WorkerConfig } from './worker-config.js';

@Global()
@Module({
  providers: [{ provide: WorkerConfig, useFactory: () => readConfig(process.env, process.getuid?.() ?? -1) }],
  exports: [WorkerConfig],
})
export class ConfigModule {}
