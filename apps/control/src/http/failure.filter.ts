import { type ArgumentsHost, Catch, type ExceptionFilter, NotFoundException } from '@nestjs/common';
import type { Response } from 'express';
import { FAILURES, ValiseError } from '@valise/contracts/failure';
import type { Logger } from 'pino';
import type { CalledRequest } from './callers.js';
import { ListenerCodes } from './listener-codes.js';
import { problemOf } from './problem.js';

const RETRY_AFTER_MS = 1000;
const RETRYABLE: ReadonlySet<number> = new Set([429, 503]);
const DISCARDED_BYTES = 64 * 1024;

/** Turns every error of a listener into problem+json. A foreign error's message is neither sent nor logged. */
@Catch()
export class FailureFilter implements ExceptionFilter {
  constructor(
    private readonly codes: ListenerCodes,
    private readonly log: Logger,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<CalledRequest>();
    const response = host.switchToHttp().getResponse<Response>();
    const failure = this.asFailure(error, request);
    if (failure.code === 'internal_error')
      this.log.error({ err: error, requestId: response.getHeader('x-request-id') }, 'failed');
    response.locals.code = failure.code;
    if (response.headersSent) {
      // The answer had begun: only a broken connection tells the caller that it is not whole.
      request.place?.rest();
      response.destroy();
      return;
    }
    // Nobody is known by this connection's certificate, and a connection has no other.
    const isNobodys = FAILURES[failure.code].status === 401;
    if (isNobodys || (!request.complete && !mayDiscard(request, failure)))
      response.setHeader('connection', 'close');
    sendProblem(response, failure);
  }

  private asFailure(error: unknown, request: CalledRequest): ValiseError {
    if (error instanceof ValiseError) return error;
    // The caller left in the middle of its own request.
    if (request.destroyed && !request.complete) return new ValiseError('request_timeout');
    if (error instanceof NotFoundException) return new ValiseError(this.codes.notFound);
    // Express refuses a path that is not decodable with a 400 of its own.
    if (error instanceof URIError || statusOf(error) === 400) return new ValiseError(this.codes.invalid);
    return new ValiseError('internal_error');
  }
}

/**
 * Whether the rest of the body can be read over, so that whoever is told to come again need not shake hands again. A
 * body that is refused for what it is, or that does not come, ends its connection.
 */
function mayDiscard({ headers }: CalledRequest, { code }: ValiseError): boolean {
  const length = Number(headers['content-length'] ?? Infinity);
  return RETRYABLE.has(FAILURES[code].status) && length <= DISCARDED_BYTES;
}

function statusOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
}

function sendProblem(response: Response, { code, facts }: ValiseError): void {
  const { status } = FAILURES[code];
  if (RETRYABLE.has(status)) {
    const retryAfterMs = typeof facts.retryAfterMs === 'number' ? facts.retryAfterMs : RETRY_AFTER_MS;
    response.setHeader('retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
  }
  const problem = problemOf(code, String(response.getHeader('x-request-id')), facts);
  response.statusCode = status;
  response.setHeader('content-type', 'application/problem+json');
  response.end(JSON.stringify(problem));
}
