import type { IncomingMessage } from 'node:http';
import { ValiseError } from '@valise/contracts/failure';
import { offHeap } from '@valise/process';

/** wire.md §5: the largest answer of any route. */
export const MAX_ANSWER_BYTES = 256 * 1024;
const MAX_PROBLEM_BYTES = 16 * 1024;

/** What control said, bounded but not yet understood. Whoever gets it zeroes the body. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  /** null when there is none that looks like one. */
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
  readonly body: Buffer;
}

/**
 * Collects an answer into one off-heap buffer and zeroes every chunk on the way.
 * @throws ValiseError control_answer_invalid when it is too long, compressed, or a success without its length
 */
export function readAnswer(message: IncomingMessage): Promise<Answer> {
  const { headers, statusCode: status = 0 } = message;
  const requestId = requestIdOf(headers['x-request-id']);
  const refuse = (rule: string): ValiseError =>
    new ValiseError('control_answer_invalid', { rule, status, ...(requestId !== null && { requestId }) });
  const length = headers['content-length'];
  const limit = status === 200 ? MAX_ANSWER_BYTES : MAX_PROBLEM_BYTES;
  const capacity = length === undefined ? limit : Number(length);
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      body?.fill(0);
      message.destroy();
      reject(error);
    };
    let body: Buffer | undefined;
    let filled = 0;
    message.on('error', fail);
    const broken = breachOf(message, capacity, limit);
    if (broken !== null) {
      fail(refuse(broken));
      return;
    }
    const collected = (body = offHeap(capacity));
    message.on('data', (chunk: Buffer) => {
      if (filled + chunk.length > capacity) fail(refuse('max_bytes'));
      else filled += chunk.copy(collected, filled);
      chunk.fill(0);
    });
    message.on('end', () => {
      resolve({
        status,
        contentType: headers['content-type'] ?? '',
        requestId,
        retryAfterMs: retryAfterMs(headers['retry-after']),
        body: collected.subarray(0, filled),
      });
    });
  });
}

function breachOf({ headers, statusCode }: IncomingMessage, capacity: number, limit: number): string | null {
  if (statusCode === 200 && headers['content-length'] === undefined) return 'content_length';
  if (headers['content-encoding'] !== undefined) return 'content_encoding';
  return capacity <= limit ? null : 'max_bytes';
}

function requestIdOf(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && /^[\w.-]{1,128}$/.test(header) ? header : null;
}

function retryAfterMs(header: string | undefined): number | null {
  return header !== undefined && /^[0-9]{1,3}$/.test(header) ? Number(header) * 1000 : null;
}
