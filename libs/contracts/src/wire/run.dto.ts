import { REASON_CODES, type ReasonCode } from '../failure/index.js';
import { ATTEMPT_STATUSES, RUN_STATUSES, type AttemptStatus, type RunStatus } from './activation.dto.js';
import {
  Flag,
  Generation,
  Identifier,
  Integer,
  ListOf,
  LOG_ARTIFACT_ID,
  OneOf,
  Optional,
  Text,
  TimeMs,
  Uuid,
} from './fields.js';

/** `POST /api/v3/projects/{p}/tasks/{t}/runs`. */
export class StartRunRequest {
  @Uuid()
  mutationId: string;

  /** Larger is claimed first. */
  @Optional()
  @Integer(0, 1000)
  priority?: number;
}

export class RetryRunRequest {
  @Uuid()
  mutationId: string;

  /** Required after `lost`: the operator accepts that the previous attempt may still run. */
  @Optional()
  @Flag()
  previousMayStillRun?: boolean;
}

export class CancelRunRequest {
  @Uuid()
  mutationId: string;
}

export class AttemptView {
  @Identifier()
  attemptId: string;

  @Generation()
  attemptNumber: number;

  @OneOf(ATTEMPT_STATUSES)
  status: AttemptStatus;

  @Optional()
  @Identifier()
  workerId?: string;

  @Optional()
  @OneOf(REASON_CODES)
  reasonCode?: ReasonCode;

  @Optional()
  @Text({ max: 16 })
  signal?: string;

  @Optional()
  @Integer(0, 255)
  exitCode?: number;

  @Optional()
  @Text({ min: 35, max: 35, pattern: LOG_ARTIFACT_ID })
  logArtifactId?: string;

  @TimeMs()
  createdAtMs: number;

  @Optional()
  @TimeMs()
  startedAtMs?: number;

  @Optional()
  @TimeMs()
  finishedAtMs?: number;
}

export class RunView {
  @Identifier()
  runId: string;

  @Identifier()
  projectId: string;

  @Identifier()
  taskId: string;

  @Identifier()
  taskRevision: string;

  @OneOf(RUN_STATUSES)
  status: RunStatus;

  @TimeMs()
  createdAtMs: number;

  @Optional()
  @TimeMs()
  cancelRequestedAtMs?: number;

  @ListOf(() => AttemptView, 1024)
  attempts: AttemptView[];
}

export class RunMutationResponse extends RunView {
  @OneOf(['applied', 'replayed'])
  outcome: 'applied' | 'replayed';
}
