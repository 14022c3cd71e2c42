import { Module } from '@nestjs/common';
import { ConfigModule } from './config/config.module.js';
import { EventsModule } from './events/events.module.js';
import { ExecutionModule } from './execution/execution.module.js';
import { InboxModule } from './inbox/inbox.module.js';
import { IngressModule } from './ingress/ingress.module.js';
import { LogsModule } from './logs/logs.module.js';

@Module({ imports: [ConfigModule, EventsModule, LogsModule, IngressModule, InboxModule, ExecutionModule] })
export class WorkerModule {}
