import { type Facts, FAILURES, type FailureCode } from '@valise/contracts/failure';
import type { Problem } from '@valise/contracts/wire';

/** The one form of every refusal (RFC 9457). */
export function problemOf(code: FailureCode, requestId: string, facts: Facts = {}): Problem {
  const { status, title } = FAILURES[code];
  return {
    type: `urn:valise:problem:${code}`,
    title,
    status,
    code,
    requestId,
    ...(Object.keys(facts).length > 0 && { facts }),
  };
}
