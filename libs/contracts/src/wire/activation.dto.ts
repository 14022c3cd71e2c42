import { REASON_CODES, type ReasonCode } from '../failure/index.js';
import {
  Digest,
  Generation,
  Identifier,
  Integer,
  LOG_ARTIFACT_ID,
  MAX_INT32,
  Nested,
  OneOf,
  Optional,
  Text,
  TimeMs,
  Version,
} from './fields.js';
import { LeaseFence } from './lease.dto.js';

export const ACTIVATION_SCHEMA = 'qinglong/remote-run-activation@v1';

export const RUN_STATUSES = [
  'created',
  'queued',
  'dispatching',
  'running',
  'succeeded',
  'failed',
  'cancelled',
  'timed_out',
  'lost',
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const ATTEMPT_STATUSES = [
  'queued',
  'claimed',
  'starting',
  'running',
  'succeeded',
  'failed',
  'cancelled',
  'timed_out',
  'lost',
] as const;
export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number];

export class StartingRequest extends LeaseFence {}

export class StartFailureRequest extends LeaseFence {
  @Optional()
  @OneOf(REASON_CODES)
  reasonCode?: ReasonCode;
}

export class RunningRequest extends LeaseFence {
  /** Opaque to control: slot, pid and start time of the process. */
  @Text({ max: 512 })
  executorHandle: string;

  @Text({ min: 35, max: 35, pattern: LOG_ARTIFACT_ID })
  logArtifactId: string;

  /** Starts at 1 with `running`. */
  @Integer(1, MAX_INT32)
  callbackSequence: number;

  @Digest()
  callbackTokenDigest: string;
}

/** What is true of the run and the attempt after the request. */
export class ActivationSnapshot {
  @Identifier()
  runId: string;

  @Identifier()
  attemptId: string;

  @OneOf(RUN_STATUSES)
  runStatus: RunStatus;

  @OneOf(ATTEMPT_STATUSES)
  attemptStatus: AttemptStatus;

  @Version()
  leaseVersion: number;

  @Generation()
  leaseGeneration: number;

  @Integer(0, MAX_INT32)
  callbackSequence: number;

  @Optional()
  @TimeMs()
  deadlineAtMs?: number;

  @Optional()
  @TimeMs()
  startedAtMs?: number;

  @Optional()
  @TimeMs()
  finishedAtMs?: number;

  @Optional()
  @Text({ max: 512 })
  executorHandle?: string;

  @Optional()
  @Text({ min: 35, max: 35, pattern: LOG_ARTIFACT_ID })
  logArtifactId?: string;

  @Optional()
  @OneOf(REASON_CODES)
  errorCode?: ReasonCode;
}

export class ActivationResponse {
  @OneOf([ACTIVATION_SCHEMA])
  schema: typeof ACTIVATION_SCHEMA;

  @OneOf(['applied', 'already_starting', 'already_running', 'already_terminal'])
  status: 'applied' | 'already_starting' | 'already_running' | 'already_terminal';

  @Nested(() => ActivationSnapshot)
  snapshot: ActivationSnapshot;
}
