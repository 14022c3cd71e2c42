import { FAILURES, type FailureCode } from '@valise/contracts/failure';
import { Problem } from '@valise/contracts/wire';
import { schemaPath, type Schema } from './schemas.js';

const OF_EVERY_ROUTE: readonly FailureCode[] = [
  'rate_limited',
  'revocation_unavailable',
  'request_timeout',
  'internal_error',
];
const OF_EVERY_BODY: readonly FailureCode[] = ['request_too_large', 'unsupported_content_type'];
const OF_EVERY_WORKER_ROUTE: readonly FailureCode[] = [
  'invalid_worker_request',
  'worker_authentication_required',
  'worker_identity_mismatch',
  'worker_ingress_unavailable',
];
const OF_EVERY_OPERATOR_ROUTE: readonly FailureCode[] = [
  'invalid_request',
  'operator_authentication_required',
  'operator_not_permitted',
  'management_unavailable',
];

/** The problem responses of a route: its own codes and those of its kind, by HTTP status. */
export function problemResponses(
  own: readonly FailureCode[],
  { isWorkerRoute, hasBody }: { readonly isWorkerRoute: boolean; readonly hasBody: boolean },
): Record<string, Schema> {
  const codes = new Set([
    ...own,
    ...(isWorkerRoute ? OF_EVERY_WORKER_ROUTE : OF_EVERY_OPERATOR_ROUTE),
    ...(hasBody ? OF_EVERY_BODY : []),
    ...OF_EVERY_ROUTE,
  ]);
  const responses: Record<string, Schema> = {};
  for (const status of new Set([...codes].map((code) => FAILURES[code].status))) {
    responses[status] = problemResponse(
      status,
      [...codes].filter((code) => FAILURES[code].status === status),
    );
  }
  return responses;
}

function problemResponse(status: number, codes: readonly FailureCode[]): Schema {
  const schema = {
    allOf: [
      { $ref: schemaPath(Problem) },
      { properties: { status: { const: status }, code: { enum: codes } } },
    ],
  };
  return {
    description: codes.map((code) => `\`${code}\`: ${FAILURES[code].title}`).join(' '),
    ...((status === 429 || status === 503) && { headers: { 'Retry-After': RETRY_AFTER } }),
    content: { 'application/problem+json': { schema } },
  };
}

const RETRY_AFTER = { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } };
