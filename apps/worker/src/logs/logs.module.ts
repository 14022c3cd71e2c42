import { Global, Module } from '@nestjs/common';
import { WorkerConfig } from '../config/worker-config.js';
import { EventLog } from './event-log.js';
import { LogStore } from './log-store.js';
import { Steps } from './steps.js';

@Global()
@Module({
  providers: [
    {
      provide: EventLog,
      inject: [WorkerConfig],
      useFactory: ({ logLevel }: WorkerConfig) => new EventLog(logLevel),
    },
    {
      provide: LogStore,
      inject: [WorkerConfig],
      useFactory: (config: WorkerConfig) => LogStore.open(config),
    },
    Steps,
  ],
  exports: [EventLog, LogStore, Steps],
})
export class LogsModule {}
