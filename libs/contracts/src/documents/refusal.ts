import { ValiseError, type Facts, type FailureCode } from '../failure/index.js';

/** Throws the one code of a document, with what is known: rule, offset or index, limit, count. Never a value. */
export type Refuse = (facts: Facts) => never;

export const refusal =
  (code: FailureCode): Refuse =>
  (facts) => {
    throw new ValiseError(code, facts);
  };
