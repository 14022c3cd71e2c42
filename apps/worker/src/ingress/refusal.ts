import { parseJson } from '@valise/contracts/documents';
import { FAILURES, ValiseError, type Facts, type FailureCode } from '@valise/contracts/failure';
import type { Answer } from './answer.js';

/**
 * The refusal in an answer that is no success: a code of ours, status, request id and Retry-After; nothing else of the
 * body, which may come from anything between us and control.
 */
export function refusalOf({ status, contentType, requestId, retryAfterMs, body }: Answer): ValiseError {
  const facts: Facts = {
    status,
    ...(requestId !== null && { requestId }),
    ...(retryAfterMs !== null && { retryAfterMs }),
  };
  const code = contentType.startsWith('application/problem+json') ? problemCode(body) : null;
  return new ValiseError(code ?? codeOfStatus(status), facts);
}

function problemCode(body: Buffer): FailureCode | null {
  try {
    const problem = parseJson(body);
    const code = typeof problem === 'object' && problem !== null && 'code' in problem ? problem.code : null;
    return typeof code === 'string' && Object.hasOwn(FAILURES, code) ? (code as FailureCode) : null;
  } catch {
    return null;
  }
}

function codeOfStatus(status: number): FailureCode {
  if (status === 429) return 'rate_limited';
  return status >= 500 ? 'control_unreachable' : 'control_answer_invalid';
}

const FENCES: ReadonlySet<FailureCode> = new Set([
  'worker_offer_fenced',
  'worker_activation_fenced',
  'worker_lease_control_fenced',
  'worker_artifact_fenced',
  'worker_completion_fenced',
]);

/** Whether control has decided that the caller does not hold what it asked about. (A fenced session is another matter.) */
export function isFence(error: unknown): boolean {
  return error instanceof ValiseError && FENCES.has(error.code);
}

export function isRefusal(error: unknown, code: FailureCode): error is ValiseError {
  return error instanceof ValiseError && error.code === code;
}

/** What control asked us to wait, or null. */
export function retryAfterOf(error: unknown): number | null {
  const wait = error instanceof ValiseError ? error.facts.retryAfterMs : undefined;
  return typeof wait === 'number' ? wait : null;
}
