import { Global, Module } from '@nestjs/common';
import { WorkerConfig } from '../config/worker-config.js';
import { EventLog } from './event-log.js';
import { Steps } from './steps.js';

@Global()
@Module({
  providers: [
    {
      provide: EventLog,
      inject: [WorkerConfig],
      useFactory: ({ logLevel }: WorkerConfig) => new EventLog(logLevel),
    },
    Steps,
  ],
  exports: [EventLog, Steps],
})
export class EventsModule {}
