import { Global, Module } from '@nestjs/common';
import { WorkerConfig } from '../config/worker-config.js';
import { Control } from './control.js';
import { IngressClient } from './ingress-client.js';
import { readIdentity, type WorkerIdentity } from './worker-identity.js';

/** The identity that the process started with. */
export const WORKER_IDENTITY = Symbol('WORKER_IDENTITY');

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
  ],
  exports: [WORKER_IDENTITY, IngressClient, Control],
})
export class IngressModule {}
