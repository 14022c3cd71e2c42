import { Global, Module } from '@nestjs/common';
import { WorkerConfig } from '../config/worker-config.js';
import { Control } from './control.js';
import { IngressClient } from './ingress-client.js';
import { IdentityRenewal } from './identity-renewal.js';
import { readIdentity, WORKER_IDENTITY, type WorkerIdentity } from './worker-identity.js';

@Global()
@Module({
  providers: [
    { provide: WORKER_IDENTITY, inject: [WorkerConfig], useFactory: readIdentity },
    {
      provide: IngressClient,
      inject: [WorkerConfig, WORKER_IDENTITY],
      useFactory: (config: WorkerConfig, identity: WorkerIdentity) =>
        new IngressClient(config.controlUrl, identity),
    },
    Control,
    IdentityRenewal,
  ],
  exports: [WORKER_IDENTITY, IngressClient, Control, IdentityRenewal],
})
export class IngressModule {}
