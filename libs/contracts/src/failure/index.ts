export { FAILURES, type FailureCode } from './catalogue.js';
export { describeError } from './describe-error.js';
export { IDLE_REASONS, REASON_CODES, type IdleReason, type ReasonCode } from './reasons.js';
export { ValiseError, type Facts } from './valise-error.js';
