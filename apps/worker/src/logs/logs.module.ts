import { Global, Module } from '@nestjs/common';
import { WorkerConfig } from '../config/worker-config.js';
import { LogStore } from './log-store.js';

@Global()
@Module({
  providers: [
    {
      provide: LogStore,
      inject: [WorkerConfig],
      useFactory: (config: WorkerConfig) => LogStore.open(config),
    },
  ],
  exports: [LogStore],
})
export class LogsModule {}
