import { randomUUID } from 'node:crypto';
import type { Response } from 'express';

/** Gives an answer its id and the headers that keep it out of caches and away from guesses; returns the id. */
export function protectAnswer(response: Response): string {
  const requestId = randomUUID();
  response.setHeader('x-request-id', requestId);
  response.setHeader('cache-control', 'no-store');
  response.setHeader('x-content-type-options', 'nosniff');
  return requestId;
}
