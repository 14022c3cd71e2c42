import { FAILURES, REASON_CODES, type FailureCode, type ReasonCode } from '../failure/index.js';
import { ATTEMPT_STATUSES, RUN_STATUSES, type AttemptStatus, type RunStatus } from './activation.dto.js';
import {
  Digest,
  Flag,
  Generation,
  Identifier,
  Integer,
  IntegerOrNull,
  ListOf,
  LOG_ARTIFACT_ID,
  MAX_INT32,
  OneOf,
  Opaque,
  Optional,
  Text,
  Texts,
  TimeMs,
  Uuid,
  Version,
  WORKER_ID,
} from './fields.js';

export const WORKER_STATUSES = ['active', 'draining', 'revoked'] as const;
export type WorkerStatus = (typeof WORKER_STATUSES)[number];

/** `PUT /api/v3/workers/{w}`: the whole row, as it shall be. */
export class PutWorkerRequest {
  @OneOf(WORKER_STATUSES)
  status: WorkerStatus;

  /** The projects the worker may serve; `["*"]` for all. */
  @Texts({ max: 128, maxItems: 256 })
  projects: string[];

  /** Operator labels, matched by placements beside what the worker says of itself. */
  @Opaque('Label keys and values.')
  labels: Record<string, string>;
}

export class WorkerView {
  @Text({ max: 128, pattern: WORKER_ID })
  workerId: string;

  @OneOf(WORKER_STATUSES)
  status: WorkerStatus;

  @Texts({ max: 128, maxItems: 256 })
  projects: string[];

  @Opaque('Label keys and values.')
  labels: Record<string, string>;

  @TimeMs()
  createdAtMs: number;

  @TimeMs()
  updatedAtMs: number;
}

/** `PUT /api/v3/projects/{p}/tasks/{t}`: the next revision of a task. */
export class PublishTaskRequest {
  /** The current revision, or null for the first. */
  @IntegerOrNull(1, MAX_INT32)
  expectedRevision: number | null;

  /** The same id with the same content is answered as a replay; with other content it is refused. */
  @Uuid()
  mutationId: string;

  @Text({ max: 255, anyCharacter: true })
  name: string;

  @Optional()
  @Text({ max: 4096, anyCharacter: true })
  description?: string;

  @OneOf(['command', 'script', 'workflow', 'agent', 'tool'])
  kind: 'command' | 'script' | 'workflow' | 'agent' | 'tool';

  @Opaque('{schema, config} (wire.md §3).')
  spec: Record<string, unknown>;

  @Opaque('Label keys and values.')
  labels: Record<string, string>;

  @Flag()
  enabled: boolean;
}

export class TaskView {
  @Identifier()
  projectId: string;

  @Identifier()
  taskId: string;

  @Generation()
  revision: number;

  @Digest()
  contentDigest: string;

  /** `qltd:v1:{revision}:{contentDigest}`. */
  @Identifier()
  taskRevision: string;

  /** Content digest of the execution revision, or null for a disabled task (nothing to execute). */
  @Optional()
  @Digest()
  executionDigest?: string;

  @TimeMs()
  createdAtMs: number;

  @TimeMs()
  updatedAtMs: number;
}

export class PublishTaskResponse extends TaskView {
  @OneOf(['published', 'replayed'])
  outcome: 'published' | 'replayed';
}

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

export const DELIVERY_DECISIONS = ['authorised', 'denied'] as const;
export const DELIVERY_OUTCOMES = ['sent', 'custody_failed', 'aborted'] as const;

/** One content-free delivery record: who, which attempt, how much, what became of it. */
export class DeliveryRecordView {
  @Identifier()
  recordId: string;

  @Identifier()
  workerId: string;

  /** Absent when the caller's session was not one that the authority knows. */
  @Optional()
  @Identifier()
  sessionId?: string;

  @Identifier()
  runId: string;

  @Identifier()
  attemptId: string;

  @OneOf(DELIVERY_DECISIONS)
  decision: (typeof DELIVERY_DECISIONS)[number];

  /** Why it was denied; told to operators, never to workers. */
  @Optional()
  @Text({ max: 64, pattern: /^[a-z_]+$/ })
  denial?: string;

  @Version()
  leaseGeneration: number;

  @Integer(0, 64)
  secretCount: number;

  @Integer(0, 1)
  bundleCount: number;

  @TimeMs()
  decidedAtMs: number;

  @Optional()
  @OneOf(DELIVERY_OUTCOMES)
  outcome?: (typeof DELIVERY_OUTCOMES)[number];

  @Optional()
  @TimeMs()
  outcomeAtMs?: number;
}

export class DeliveryRecordList {
  @ListOf(() => DeliveryRecordView, 1000)
  deliveries: DeliveryRecordView[];
}

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
