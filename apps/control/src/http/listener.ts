import type { AddressInfo } from 'node:net';
import type { ServerOptions } from 'node:https';
import type { Type } from '@nestjs/common';
import type { HttpsOptions } from '@nestjs/common/interfaces/external/https-options.interface.js';
import { NestFactory, Reflector } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import type { Express } from 'express';
import type { Logger } from 'pino';
import type { ListenAddress } from '@valise/contracts/settings';
import { answerClientErrors } from './client-error.js';
import { DtoPipe } from './dto.pipe.js';
import { FailureFilter } from './failure.filter.js';
import { JsonBodyInterceptor } from './json-body.interceptor.js';
import type { ListenerCodes } from './listener-codes.js';
import { nestLog } from './log.js';
import { requestLine } from './request-line.js';

/** Silent connections cost memory and descriptors; a worker keeps a few. */
const MAX_CONNECTIONS = 2000;

/** A Nest application behind one address. */
export async function createListener(
  module: Type | { module: Type },
  codes: ListenerCodes,
  log: Logger,
  tls: ServerOptions | null,
): Promise<NestExpressApplication> {
  const adapter = new ExpressAdapter();
  const server = adapter.getInstance<Express>();
  // An ETag is a hash of the body, which may be a secret; nothing of ours is ever revalidated.
  server.set('etag', false).set('x-powered-by', false).set('query parser', false);
  server.use(requestLine(log));
  const app = await NestFactory.create<NestExpressApplication>(module, adapter, {
    bodyParser: false,
    logger: nestLog(log),
    abortOnError: false,
    ...(tls && { httpsOptions: tls as HttpsOptions }),
  });
  const http = app.getHttpServer();
  http.maxConnections = MAX_CONNECTIONS;
  answerClientErrors(http, codes);
  app.useGlobalFilters(new FailureFilter(codes, log));
  app.useGlobalInterceptors(new JsonBodyInterceptor(app.get(Reflector), codes));
  app.useGlobalPipes(new DtoPipe(codes));
  return app;
}

/** Starts to listen and answers the port. @throws Error of the listener, such as EADDRINUSE */
export async function listen(app: NestExpressApplication, { host, port }: ListenAddress): Promise<number> {
  await app.listen(port, host);
  return (app.getHttpServer().address() as AddressInfo).port;
}
