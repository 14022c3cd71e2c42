import { applyDecorators, HttpCode, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { FAILURES, type FailureCode } from '@valise/contracts/failure';
import { Problem } from '@valise/contracts/wire';

/** The refusals that every route with a body can answer beside its own. */
const COMMON: readonly FailureCode[] = [
  'request_too_large',
  'unsupported_content_type',
  'request_timeout',
  'internal_error',
];

/** What a route answers: 200 with `type`, or a problem with one of `codes`. Documents it and sets the status. */
export function Answers(type: Type, ...codes: readonly FailureCode[]): MethodDecorator {
  const byStatus = new Map<number, FailureCode[]>();
  for (const code of [...codes, ...COMMON]) {
    const { status } = FAILURES[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return applyDecorators(
    HttpCode(200),
    ApiExtraModels(type, Problem),
    ApiResponse({ status: 200, content: { 'application/json': { schema: { $ref: getSchemaPath(type) } } } }),
    ...[...byStatus].map(([status, ofStatus]) =>
      ApiResponse({
        status,
        description: ofStatus.map((code) => `\`${code}\`: ${FAILURES[code].title}`).join(' '),
        content: { 'application/problem+json': { schema: { $ref: getSchemaPath(Problem) } } },
      }),
    ),
  );
}
