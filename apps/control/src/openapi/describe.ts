import { NestFactory } from '@nestjs/core';
import type { OpenAPIObject } from '@nestjs/swagger';
import { pino } from 'pino';
import type { ControlConfig } from '../config/control-config.js';
import { parseOperators } from '../config/operators.js';
import { IngressModule } from '../ingress.module.js';
import { ManagementModule } from '../management.module.js';
import { createOpenApiDocument } from './document.js';

const NOWHERE = { host: '', port: 0 };

/** A configuration that nobody reads: in preview, Nest makes no provider. */
const UNREAD: ControlConfig = {
  trustDomain: '',
  ingressDatabaseUrl: 'postgres://nowhere',
  operatorDatabaseUrl: 'postgres://nowhere',
  sweeperDatabaseUrl: 'postgres://nowhere',
  ingress: NOWHERE,
  management: NOWHERE,
  plain: NOWHERE,
  tls: { certificateFile: '', keyFile: '', clientCaFile: '' },
  secretsDirectory: '',
  operators: parseOperators('{}'),
  allowedNames: new Set(),
  sweepIntervalMs: 0,
  logLevel: 'fatal',
};

/** The document that management publishes, made from the routes alone: nothing is read, connected or started. */
export async function describeListeners(): Promise<OpenAPIObject> {
  const log = pino({ enabled: false });
  const listeners = [];
  for (const module of [IngressModule, ManagementModule]) {
    const options = { preview: true, logger: false, abortOnError: false } as const;
    listeners.push(await NestFactory.create(module.forRoot(UNREAD, log), options));
  }
  return createOpenApiDocument(listeners);
}
