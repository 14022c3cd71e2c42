import { Global, Module } from '@nestjs/common';
import { readConfig } from './read-config.js';
import { WorkerConfig } from './worker-config.js';

/** The settings of this process. @throws ValiseError configuration_invalid */
export const ownConfig = (): WorkerConfig => readConfig(process.env, process.getuid?.() ?? -1);

@Global()
@Module({
  providers: [{ provide: WorkerConfig, useFactory: ownConfig }],
  exports: [WorkerConfig],
})
export class ConfigModule {}
