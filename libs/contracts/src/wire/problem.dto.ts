import { FAILURES, type FailureCode } from '../failure/index.js';
import { Integer, OneOf, Opaque, Optional, Text } from './fields.js';

const FAILURE_CODES = Object.keys(FAILURES);

/** RFC 9457 problem details; `code` is the stable part. */
export class Problem {
  @Text({ max: 128 })
  type: string;

  @Text({ max: 256, anyCharacter: true })
  title: string;

  @Integer(400, 599)
  status: number;

  @OneOf(FAILURE_CODES)
  code: FailureCode;

  @Text({ max: 64 })
  requestId: string;

  /** Field path, rule, limit and count of what was refused; never a value. */
  @Optional()
  @Opaque('Facts of the refusal.')
  facts?: Record<string, unknown>;
}
