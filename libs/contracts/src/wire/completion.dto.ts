import { REASON_CODES, type ReasonCode } from '../failure/index.js';
import { ArtifactReceipt } from './artifact.dto.js';
import {
  Digest,
  Identifier,
  Integer,
  IntegerOrNull,
  MAX_INT32,
  Nested,
  OneOf,
  Optional,
  Text,
  TimeMs,
} from './fields.js';
import { Rule } from './rules.js';
import { LeaseFence } from './lease.dto.js';

export const COMPLETION_SCHEMA = 'qinglong/remote-worker-completion@v1';

export const COMPLETION_OUTCOMES = ['succeeded', 'failed', 'cancelled', 'timed_out'] as const;
export type CompletionOutcome = (typeof COMPLETION_OUTCOMES)[number];

@Rule<CompletionResult>({
  says: '`finishedAtMs` is not before `startedAtMs`, even where the worker’s clock was set back.',
  check: ({ startedAtMs, finishedAtMs }) =>
    finishedAtMs < startedAtMs ? { field: 'finishedAtMs', rule: 'order' } : null,
})
@Rule<CompletionResult>({
  says: 'Outcome `succeeded` means `exitCode` 0.',
  check: ({ outcome, exitCode }) =>
    outcome === 'succeeded' && exitCode !== 0 ? { field: 'exitCode', rule: 'zero' } : null,
})
export class CompletionResult {
  @OneOf(COMPLETION_OUTCOMES)
  outcome: CompletionOutcome;

  /** On the worker's clock; for display only. */
  @TimeMs()
  startedAtMs: number;

  @TimeMs()
  finishedAtMs: number;

  /** null when no exit was seen (killed by a signal, or the outcome is unknown). */
  @IntegerOrNull(0, 255)
  exitCode: number | null;
}

@Rule<CompletionRequest>({
  says: '`signal` is present only with reasonCode `killed_by_signal`.',
  check: ({ signal, reasonCode }) =>
    signal !== undefined && reasonCode !== 'killed_by_signal'
      ? { field: 'signal', rule: 'not_allowed' }
      : null,
})
export class CompletionRequest extends LeaseFence {
  @OneOf([COMPLETION_SCHEMA])
  schema: typeof COMPLETION_SCHEMA;

  @Integer(1, MAX_INT32)
  callbackSequence: number;

  @Digest()
  callbackTokenDigest: string;

  @Nested(() => CompletionResult)
  result: CompletionResult;

  @Nested(() => ArtifactReceipt)
  artifact: ArtifactReceipt;

  @Optional()
  @OneOf(REASON_CODES)
  reasonCode?: ReasonCode;

  /** Name of the signal that ended the process. */
  @Optional()
  @Text({ max: 16, pattern: /^SIG[A-Z0-9+]+$/ })
  signal?: string;
}

export class CompletionResponse {
  @OneOf(['applied', 'already_completed', 'already_terminal'])
  status: 'applied' | 'already_completed' | 'already_terminal';

  @Identifier()
  runId: string;

  @Identifier()
  attemptId: string;

  @Integer(0, MAX_INT32)
  callbackSequence: number;
}
