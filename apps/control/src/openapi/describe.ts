import { NestFactory } from '@nestjs/core';
import type { OpenAPIObject } from '@nestjs/swagger';
import { pino } from 'pino';
import type { IngressConfig, ManagementConfig } from '../config/control-config.js';
import { LiveFiles } from '../config/live-files.js';
import { Operators } from '../config/operators.js';
import { IngressModule } from '../ingress.module.js';
import { ManagementModule } from '../management.module.js';
import { Metrics } from '../metrics/metrics.js';
import type { Credentials } from '../tls/credentials.js';
import { Transport } from '../tls/transport.js';
import { createOpenApiDocument } from './document.js';

const NOWHERE = { host: '', port: 0 };

// Nobody reads what follows: in preview, Nest makes no provider.
const INGRESS: IngressConfig = {
  listen: NOWHERE,
  databaseUrl: 'postgres://nowhere',
  databaseConnections: 1,
  secretsDirectory: '',
};
const MANAGEMENT: ManagementConfig = {
  listen: NOWHERE,
  databaseUrl: 'postgres://nowhere',
  sweeperDatabaseUrl: 'postgres://nowhere',
  operatorsFile: '',
  sweepIntervalMs: 0,
  logRetentionDays: 90,
  allowedNames: new Set(),
};

const NO_OPERATORS = LiveFiles.open(new Map(), () => new Operators(new Map()));

const NO_CREDENTIALS = LiveFiles.open(new Map(), (): Credentials => {
  const nothing = Buffer.alloc(0);
  return { certificate: nothing, key: nothing, notAfterMs: 0, authorities: [], revocation: null };
});

/** The document that management publishes, made from the routes alone: nothing is read, connected or started. */
export async function describeListeners(): Promise<OpenAPIObject> {
  const log = pino({ enabled: false });
  const transport = new Transport(NO_CREDENTIALS, { trustDomain: '', graceMs: 0 }, log);
  const program = { log, metrics: new Metrics(), transport };
  const listeners = [];
  for (const module of [
    IngressModule.forRoot(program, INGRESS),
    ManagementModule.forRoot(program, MANAGEMENT, NO_OPERATORS),
  ]) {
    const options = { preview: true, logger: false, abortOnError: false } as const;
    listeners.push(await NestFactory.create(module, options));
  }
  return createOpenApiDocument(listeners);
}
