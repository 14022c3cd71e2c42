import type { IncomingMessage } from 'node:http';
import { ValiseError } from '@valise/contracts/failure';

/**
 * Reads a whole body of at most `limit` bytes into one off-heap buffer. The transport's chunks are zeroed; the caller
 * zeroes what it gets.
 * @throws ValiseError request_too_large before more than `limit` bytes were kept, request_timeout past `deadlineMs`
 */
export function readBoundedBody(
  request: IncomingMessage,
  limit: number,
  deadlineMs: number,
): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limit) return Promise.reject(tooLarge(limit));
  return new Promise((resolve, reject) => {
    const body = Buffer.from(
      new ArrayBuffer(request.headers['content-length'] === undefined ? limit : declared),
    );
    let length = 0;
    const timer = setTimeout(() => {
      fail(new ValiseError('request_timeout'));
    }, deadlineMs);
    const stop = (): void => {
      clearTimeout(timer);
      request.off('data', take).off('end', end).off('error', broken).off('close', broken);
    };
    const fail = (error: ValiseError): void => {
      stop();
      body.fill(0);
      request.pause();
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      if (length + chunk.length > body.length) {
        chunk.fill(0);
        fail(tooLarge(limit));
        return;
      }
      chunk.copy(body, length);
      chunk.fill(0);
      length += chunk.length;
    };
    const end = (): void => {
      stop();
      resolve(body.subarray(0, length));
    };
    const broken = (): void => {
      fail(new ValiseError('request_timeout'));
    };
    request.on('data', take).on('end', end).on('error', broken).on('close', broken);
  });
}

function tooLarge(limit: number): ValiseError {
  return new ValiseError('request_too_large', { limit });
}
