import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AuthorityModule } from '@valise/authority';
import { ArtifactController } from './artifacts/artifact.controller.js';
import { AttemptController } from './attempts/attempt.controller.js';
import type { IngressConfig } from './config/control-config.js';
import { CustodyModule } from './custody/custody.module.js';
import { DeliveryModule } from './delivery/delivery.module.js';
import { WorkerCertificateGuard } from './http/worker-certificate.guard.js';
import { OfferController } from './offers/offer.controller.js';
import { type Program, ProgramModule } from './program.module.js';
import { SessionController } from './sessions/session.controller.js';

/** The worker-facing listener, with the database role valise_ingress. */
@Module({})
export class IngressModule {
  static forRoot(program: Program, config: IngressConfig): DynamicModule {
    return {
      module: IngressModule,
      imports: [
        ProgramModule.forRoot(program),
        AuthorityModule.forRoot({
          url: config.databaseUrl,
          applicationName: 'valise-ingress',
          poolSize: config.databaseConnections,
        }),
        CustodyModule.forRoot(config.secretsDirectory),
        DeliveryModule,
      ],
      controllers: [SessionController, OfferController, AttemptController, ArtifactController],
      providers: [{ provide: APP_GUARD, useClass: WorkerCertificateGuard }],
    };
  }
}
