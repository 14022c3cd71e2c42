import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AuthorityModule } from '@valise/authority';
import type { Logger } from 'pino';
import { ArtifactController } from './artifacts/artifact.controller.js';
import { AttemptController } from './attempts/attempt.controller.js';
import type { ControlConfig } from './config/control-config.js';
import { DeliveryModule } from './delivery/delivery.module.js';
import { WorkerCertificateGuard } from './http/worker-certificate.guard.js';
import { OfferController } from './offers/offer.controller.js';
import { ProgramModule } from './program.module.js';
import { SessionController } from './sessions/session.controller.js';

const POOL_SIZE = 10;

/** The worker-facing listener, with the database role valise_ingress. */
@Module({})
export class IngressModule {
  static forRoot(config: ControlConfig, log: Logger): DynamicModule {
    return {
      module: IngressModule,
      imports: [
        ProgramModule.forRoot(config, log),
        AuthorityModule.forRoot({
          url: config.ingressDatabaseUrl,
          applicationName: 'valise-ingress',
          poolSize: POOL_SIZE,
        }),
        DeliveryModule,
      ],
      controllers: [SessionController, OfferController, AttemptController, ArtifactController],
      providers: [{ provide: APP_GUARD, useClass: WorkerCertificateGuard }],
    };
  }
}
