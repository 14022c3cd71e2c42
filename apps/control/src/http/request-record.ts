import type { Response } from 'express';
import type { Logger } from 'pino';
import type { FailureCode } from '@valise/contracts/failure';
import { type ListenerName, METHODS } from '../metrics/catalogue.js';
import type { Metrics } from '../metrics/metrics.js';
import type { CalledRequest } from './callers.js';

/** Where what became of a listener's requests is written. */
export interface RequestRecordOptions {
  readonly listener: ListenerName;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * Counts a request and writes one line about it when it has ended. Line and label carry the route's pattern, never its
 * URL: a query or a path may hold anything.
 */
export function recordRequest(
  { listener, log, metrics }: RequestRecordOptions,
  requestId: string,
  request: CalledRequest,
  response: Response,
): void {
  const startedAt = performance.now();
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
}

function outcomeOf(response: Response): 'ok' | 'aborted' | FailureCode {
  if (!response.writableFinished) return 'aborted';
  const { code } = response.locals as { code?: FailureCode };
  return code ?? 'ok';
}
