import { randomUUID } from 'node:crypto';
import type { NextFunction, Response } from 'express';
import type { Logger } from 'pino';
import type { CalledRequest } from './callers.js';

/**
 * Gives every response its id and its protective headers, and writes one line when it has ended. The line carries the
 * route's pattern, never its URL: a query or a path may hold anything.
 */
export function requestLine(log: Logger) {
  return (request: CalledRequest, response: Response, next: NextFunction): void => {
    const requestId = randomUUID();
    const startedAt = performance.now();
    response.setHeader('x-request-id', requestId);
    response.setHeader('cache-control', 'no-store');
    response.setHeader('x-content-type-options', 'nosniff');
    response.once('close', () => {
      const route = (request.route as { path?: string } | undefined)?.path;
      const { code } = response.locals as { code?: string };
      log.info(
        {
          requestId,
          method: request.method,
          route,
          caller: request.caller?.id,
          status: response.headersSent ? response.statusCode : null,
          code,
          finished: response.writableFinished,
          ms: Math.round(performance.now() - startedAt),
        },
        'request',
      );
    });
    next();
  };
}
