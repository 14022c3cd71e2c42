import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FailureCode } from '@valise/contracts/failure';
import type { Connections } from './connections.js';
import type { ListenerOptions } from './listener.js';
import { problemOf } from './problem.js';

const OVERFLOW = 'HPE_HEADER_OVERFLOW';
const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';

/**
 * Answers what is no HTTP request as everything else is answered: with a code, and with the protective headers. Where
 * the connection owes its next answer to another request, it is cut instead: nobody takes the one for the other.
 */
export function answerClientErrors(
  server: Server,
  connections: Connections,
  { codes, listener, metrics }: Pick<ListenerOptions, 'codes' | 'listener' | 'metrics'>,
): void {
  server.on('clientError', ({ code: errno }: NodeJS.ErrnoException, socket: Duplex) => {
    if (errno === 'ECONNRESET' || !socket.writable || connections.isAnswering(socket)) {
      socket.destroy();
      return;
    }
    const outcome =
      errno === OVERFLOW ? 'request_too_large' : errno === TIMEOUT ? 'request_timeout' : codes.invalid;
    metrics.count('valise_requests_total', { listener, method: 'other', route: 'none', outcome });
    socket.end(answerOf(outcome));
  });
  // An expectation that we do not know is not met, and that is all (RFC 9110 §10.1.1).
  server.on('checkExpectation', (request, response) => {
    server.emit('request', request, response);
  });
}

function answerOf(code: FailureCode): string {
  const requestId = randomUUID();
  const problem = problemOf(code, requestId);
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} Refused`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    `x-request-id: ${requestId}`,
    'connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
