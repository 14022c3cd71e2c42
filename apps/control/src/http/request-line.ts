import { randomUUID } from 'node:crypto';
import type { NextFunction, Response } from 'express';
import type { Logger } from 'pino';
import type { FailureCode } from '@valise/contracts/failure';
import { type ListenerName, METHODS } from '../metrics/catalogue.js';
import type { Metrics } from '../metrics/metrics.js';
import type { CalledRequest } from './callers.js';
import type { Drain } from './drain.js';

/** What of an application every request passes on its way in and out. */
export interface RequestLineOptions {
  readonly listener: ListenerName;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly drain: Drain;
}

/**
 * Gives every response its id and its protective headers, and writes one line when it has ended. The line carries the
 * route's pattern, never its URL: a query or a path may hold anything.
 */
export function requestLine({ listener, log, metrics, drain }: RequestLineOptions) {
  return (request: CalledRequest, response: Response, next: NextFunction): void => {
    // A pipelined request: its answer would be queued, and a queued answer never says that its connection is gone.
    if (!response.socket) {
      request.socket.destroy();
      return;
    }
    const requestId = randomUUID();
    const startedAt = performance.now();
    response.setHeader('x-request-id', requestId);
    response.setHeader('cache-control', 'no-store');
    response.setHeader('x-content-type-options', 'nosniff');
    drain.watch(response);
    response.once('close', () => {
      const ms = performance.now() - startedAt;
      const { caller, attemptId } = request;
      const route = (request.route as { path: string } | undefined)?.path ?? 'none';
      const method = METHODS.find((known) => known === request.method) ?? 'other';
      const outcome = outcomeOf(response);
      metrics.count('valise_requests_total', { listener, method, route, outcome });
      metrics.observe('valise_request_duration_seconds', { listener, route }, ms / 1000);
      log.info(
        {
          requestId,
          listener,
          method,
          route,
          ...(caller && { [caller.kind]: caller.id }),
          ...(attemptId !== undefined && { attemptId }),
          outcome,
          ...(response.headersSent && { status: response.statusCode }),
          ms: Math.round(ms),
        },
        'request',
      );
    });
    next();
  };
}

function outcomeOf(response: Response): 'ok' | 'aborted' | FailureCode {
  if (!response.writableFinished) return 'aborted';
  const { code } = response.locals as { code?: FailureCode };
  return code ?? 'ok';
}
