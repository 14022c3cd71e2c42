import { applyDecorators, HttpCode, type Type } from '@nestjs/common';
import { ApiExtension, ApiOkResponse, getSchemaPath } from '@nestjs/swagger';
import type { FailureCode } from '@valise/contracts/failure';

/** Where an operation keeps the codes of its own refusals, for the OpenAPI document to group by status. */
export const REFUSALS = 'x-refusals';

/** The refusals of a route beside those that every route of its listener has. */
export const Refuses = (...codes: readonly FailureCode[]): MethodDecorator => ApiExtension(REFUSALS, codes);

/** What a route answers: 200 with `type`, or a problem with one of `codes`. Documents it and sets the status. */
export function Answers(type: Type, ...codes: readonly FailureCode[]): MethodDecorator {
  return applyDecorators(
    HttpCode(200),
    ApiOkResponse({
      description: 'Done, or already so.',
      content: { 'application/json': { schema: { $ref: getSchemaPath(type) } } },
    }),
    Refuses(...codes),
  );
}
