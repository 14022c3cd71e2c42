import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AuthorityModule } from '@valise/authority';
import { RunLogController } from './artifacts/run-log.controller.js';
import { AuditController } from './audit/audit.controller.js';
import type { ManagementConfig } from './config/control-config.js';
import type { LiveFiles } from './config/live-files.js';
import { OPERATORS, type Operators } from './config/operators.js';
import { DeliveryRecordController } from './deliveries/delivery-record.controller.js';
import { OperatorCertificateGuard } from './http/operator-certificate.guard.js';
import { OpenApiController } from './openapi/openapi.controller.js';
import { PublishedDocument } from './openapi/published-document.js';
import { type Program, ProgramModule } from './program.module.js';
import { RunController } from './runs/run.controller.js';
import { TaskController } from './tasks/task.controller.js';
import { WorkerController } from './workers/worker.controller.js';

/** Connections to PostgreSQL: few people ask, seldom. */
export const MANAGEMENT_CONNECTIONS = 5;

/** The operator-facing listener, with the database role valise_operator. */
@Module({})
export class ManagementModule {
  static forRoot(program: Program, config: ManagementConfig, operators: LiveFiles<Operators>): DynamicModule {
    return {
      module: ManagementModule,
      imports: [
        ProgramModule.forRoot(program),
        AuthorityModule.forRoot({
          url: config.databaseUrl,
          applicationName: 'valise-operator',
          poolSize: MANAGEMENT_CONNECTIONS,
          settings: { allowedNames: config.allowedNames },
        }),
      ],
      controllers: [
        WorkerController,
        TaskController,
        RunController,
        RunLogController,
        DeliveryRecordController,
        AuditController,
        OpenApiController,
      ],
      providers: [
        { provide: OPERATORS, useValue: operators },
        { provide: APP_GUARD, useClass: OperatorCertificateGuard },
        PublishedDocument,
      ],
    };
  }
}
