import type { AddressInfo } from 'node:net';
import type { ServerOptions } from 'node:https';
import type { DynamicModule, Type } from '@nestjs/common';
import type { HttpsOptions } from '@nestjs/common/interfaces/external/https-options.interface.js';
import { NestFactory, Reflector } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import type { Express, NextFunction, Request, Response } from 'express';
import type { ListenAddress } from '@valise/contracts/settings';
import { nestLog } from '../log/log.js';
import { AdmissionGuard } from '../admission/admission.guard.js';
import { type Admissions, LIFETIME_MS } from '../admission/admissions.js';
import { answerClientErrors } from './client-error.js';
import { Connections } from './connections.js';
import type { Drain } from './drain.js';
import { DtoPipe } from './dto.pipe.js';
import { FailureFilter } from './failure.filter.js';
import type { ListenerCodes } from './listener-codes.js';
import { protectAnswer } from './protected-answer.js';
import { recordRequest, type RequestRecordOptions } from './request-record.js';

const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
/** The longest body may take so long to arrive; those of calls have a shorter limit of their own. */
const REQUEST_TIMEOUT_MS = LIFETIME_MS.transfer;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** A connection on which neither side gets a byte forward during a request is cut. */
const STALLED_MS = 20_000;
const CHECK_INTERVAL_MS = 1000;

/** What a listener is made of, beside its module. */
export interface ListenerOptions extends RequestRecordOptions {
  readonly drain: Drain;
  readonly codes: ListenerCodes;
  readonly maxConnections: number;
  /** Null for the plain address. */
  readonly mutualTls: { readonly server: ServerOptions; readonly admissions: Admissions } | null;
}

/** A Nest application behind one address. */
export interface Listener {
  readonly application: NestExpressApplication;
  readonly connections: Connections;
}

/** Makes a listener that does not listen yet. @throws Error of a module, such as a database that is not there */
export async function createListener(
  module: Type | DynamicModule,
  options: ListenerOptions,
): Promise<Listener> {
  const { codes, log, drain, mutualTls, maxConnections } = options;
  const adapter = new ExpressAdapter();
  const express = adapter.getInstance<Express>();
  // An ETag is a hash of the body, which may be a secret; nothing of ours is ever revalidated.
  express.set('etag', false).set('x-powered-by', false).set('query parser', false);
  express.use((request: Request, response: Response, next: NextFunction) => {
    // A pipelined request: its answer would be queued, and a queued answer never says that its connection is gone.
    if (!response.socket) {
      request.socket.destroy();
      return;
    }
    drain.watch(response);
    recordRequest(options, protectAnswer(response), request, response);
    next();
  });
  const application = await NestFactory.create<NestExpressApplication>(module, adapter, {
    bodyParser: false,
    logger: nestLog(log),
    abortOnError: false,
    ...(mutualTls && { httpsOptions: { ...mutualTls.server, ...HTTP_OPTIONS } as HttpsOptions }),
  });
  const server = application.getHttpServer();
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  server.setTimeout(STALLED_MS);
  const connections = new Connections(server, maxConnections);
  answerClientErrors(server, connections, options);
  application.useGlobalFilters(new FailureFilter(codes, log));
  if (mutualTls) {
    const { admissions } = mutualTls;
    application.useGlobalGuards(
      new AdmissionGuard(application.get(Reflector), codes, admissions, options.metrics),
    );
  }
  application.useGlobalPipes(new DtoPipe(codes));
  return { application, connections };
}

const HTTP_OPTIONS = { maxHeaderSize: MAX_HEADER_BYTES, connectionsCheckingInterval: CHECK_INTERVAL_MS };

/** Starts to listen and answers the port. @throws Error of the listener, such as EADDRINUSE */
export async function listen({ application }: Listener, { host, port }: ListenAddress): Promise<number> {
  await application.listen(port, host);
  return (application.getHttpServer().address() as AddressInfo).port;
}
