import * as wire from '../wire/index.js';
import * as of from './parts.js';

const task = {
  projectId: of.projectId,
  taskId: of.taskId,
  revision: 1,
  contentDigest: of.contentDigest,
  taskRevision: of.taskRevision,
  executionDigest: of.executionDigest,
  createdAtMs: of.atMs,
  updatedAtMs: of.atMs,
};

const attempt = {
  attemptId: of.attemptId,
  attemptNumber: 1,
  status: 'succeeded',
  workerId: of.workerId,
  exitCode: 0,
  logArtifactId: of.artifactId,
  createdAtMs: of.atMs,
  startedAtMs: of.atMs + 900,
  finishedAtMs: of.atMs + 5900,
} as const;

const run = {
  runId: of.runId,
  projectId: of.projectId,
  taskId: of.taskId,
  taskRevision: of.taskRevision,
  status: 'succeeded',
  createdAtMs: of.atMs,
  attempts: [attempt],
} as const;

const delivery = {
  recordId: of.recordId,
  workerId: of.workerId,
  sessionId: of.sessionId,
  runId: of.runId,
  attemptId: of.attemptId,
  decision: 'authorised',
  leaseGeneration: 1,
  secretCount: 1,
  bundleCount: 1,
  decidedAtMs: of.atMs + 700,
  outcome: 'sent',
  outcomeAtMs: of.atMs + 720,
} as const;

const worker = { status: 'active', projects: [of.projectId], labels: { zone: 'eu-1' } } as const;

/** Of every class that an operator and control exchange, and of the one refusal that both listeners give. */
const event = {
  cursor: '7421.96',
  occurredAtMs: of.atMs,
  actorKind: 'operator',
  actorId: 'alice',
  action: 'start_run',
  projectId: of.projectId,
  subjectId: of.runId,
  facts: { taskId: of.taskId },
} as const;

export const MANAGEMENT_EXAMPLES = [
  [wire.WorkerPath, { workerId: of.workerId }],
  [wire.TaskPath, { projectId: of.projectId, taskId: of.taskId }],
  [wire.RunPath, { projectId: of.projectId, runId: of.runId }],
  [wire.PutWorkerRequest, worker],
  [wire.WorkerView, { workerId: of.workerId, ...worker, createdAtMs: of.atMs, updatedAtMs: of.atMs }],
  [
    wire.PublishTaskRequest,
    {
      expectedRevision: null,
      mutationId: of.mutationId,
      name: 'Nightly report',
      kind: 'command',
      spec: { ...of.spec },
      labels: { team: 'finance' },
      enabled: true,
    },
  ],
  [wire.TaskView, task],
  [wire.PublishTaskResponse, { ...task, outcome: 'published' }],
  [wire.StartRunRequest, { mutationId: of.mutationId, priority: 10 }],
  [wire.RetryRunRequest, { mutationId: of.mutationId, previousMayStillRun: true }],
  [wire.CancelRunRequest, { mutationId: of.mutationId }],
  [wire.AttemptView, attempt],
  [wire.RunView, run],
  [wire.RunMutationResponse, { ...run, outcome: 'applied' }],
  [wire.DeliveryRecordView, delivery],
  [wire.DeliveryRecordList, { deliveries: [delivery] }],
  [wire.AuditPath, { cursor: event.cursor }],
  [wire.AuditEventView, event],
  [wire.AuditPage, { events: [event], next: event.cursor }],
  [
    wire.Problem,
    {
      type: 'urn:valise:problem:invalid_request',
      title: 'The request breaks the contract of its route.',
      status: 400,
      code: 'invalid_request',
      requestId: of.requestId,
      facts: { field: 'name', rule: 'max_bytes', limit: 255, actual: 300 },
    },
  ],
] as const;
