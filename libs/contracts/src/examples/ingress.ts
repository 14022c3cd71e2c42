import { sha256Hex } from '../documents/index.js';
import * as wire from '../wire/index.js';
import * as of from './parts.js';

const session = {
  workerId: of.workerId,
  sessionId: of.sessionId,
  generation: 1,
  version: 7,
  status: 'online',
  leaseExpiresAtMs: of.atMs + 30_000,
} as const;

const snapshot = {
  runId: of.runId,
  attemptId: of.attemptId,
  runStatus: 'running',
  attemptStatus: 'running',
  leaseVersion: 5,
  leaseGeneration: 1,
  callbackSequence: 1,
  deadlineAtMs: of.atMs + 600_000,
  startedAtMs: of.atMs + 900,
  executorHandle: 'slot=0 pid=4711 start=88123',
  logArtifactId: of.artifactId,
} as const;

const candidate = {
  runId: of.runId,
  attemptId: of.attemptId,
  projectId: of.projectId,
  taskId: of.taskId,
  taskRevision: of.taskRevision,
  priority: 0,
  queuedAtMs: of.atMs,
  attemptCreatedAtMs: of.atMs,
  attemptNumber: 1,
  executorType: 'remote_worker',
} as const;

const claimant = { workerId: of.workerId, sessionId: of.sessionId, generation: 1 };

const lease = {
  version: 4,
  leaseGeneration: 1,
  acquiredAtMs: of.atMs + 500,
  renewedAtMs: of.atMs + 500,
  expiresAtMs: of.atMs + 30_500,
  updatedAtMs: of.atMs + 500,
};

const offer = {
  offerId: of.offerId,
  deliveryKind: 'new_claim',
  executionDigest: of.executionDigest,
  candidate,
  worker: claimant,
  lease,
  executionRevision: { ...of.executionRevision },
  placementScore: 0,
} as const;

const secret = { secretRef: of.secretRef, value: 'correct horse battery staple' };
const bundle = {
  secretRef: of.environmentBundleRef,
  value: '{"schema":"qinglong/environment-bundle@v1","entries":[{"name":"REGION","value":"eu"}]}',
};

const result = {
  outcome: 'succeeded',
  startedAtMs: of.atMs + 900,
  finishedAtMs: of.atMs + 5900,
  exitCode: 0,
} as const;

/** Of every class that a worker and control exchange. */
export const INGRESS_EXAMPLES = [
  [wire.WorkerSessionPath, { workerId: of.workerId, sessionId: of.sessionId }],
  [
    wire.SessionRegisterRequest,
    {
      schema: wire.SESSION_REGISTER_SCHEMA,
      capabilitiesJson: of.capabilitiesJson,
      capabilitiesHash: sha256Hex(of.capabilitiesJson),
      maxConcurrentRuns: 4,
      availableSlots: 4,
      leaseDurationMs: 30_000,
    },
  ],
  [
    wire.SessionRegisterResponse,
    { schema: wire.SESSION_REGISTER_SCHEMA, ...session, replacedSession: false },
  ],
  [
    wire.SessionHeartbeatRequest,
    {
      schema: wire.SESSION_HEARTBEAT_SCHEMA,
      generation: 1,
      expectedVersion: 6,
      availableSlots: 3,
      leaseDurationMs: 30_000,
    },
  ],
  [wire.SessionHeartbeatResponse, { schema: wire.SESSION_HEARTBEAT_SCHEMA, ...session }],
  [
    wire.SessionTransitionRequest,
    { schema: wire.SESSION_TRANSITION_SCHEMA, generation: 1, expectedVersion: 7, status: 'draining' },
  ],
  [
    wire.SessionTransitionResponse,
    { schema: wire.SESSION_TRANSITION_SCHEMA, ...session, status: 'draining', version: 8 },
  ],
  [wire.OfferRequest, { workerGeneration: 1, offerId: of.offerId, leaseToken: of.fence.leaseToken }],
  [wire.OfferCandidate, candidate],
  [wire.OfferWorker, claimant],
  [wire.OfferLease, lease],
  [wire.Offer, offer],
  [wire.OfferResponse, { schema: wire.OFFER_SCHEMA, status: 'offered', offer }],
  [wire.LeaseFence, of.fence],
  [wire.StartingRequest, of.fence],
  [wire.StartFailureRequest, { ...of.fence, reasonCode: 'command_not_found' }],
  [
    wire.RunningRequest,
    {
      ...of.fence,
      executorHandle: snapshot.executorHandle,
      logArtifactId: of.artifactId,
      callbackSequence: 1,
      callbackTokenDigest: of.callbackTokenDigest,
    },
  ],
  [wire.ActivationSnapshot, snapshot],
  [wire.ActivationResponse, { schema: wire.ACTIVATION_SCHEMA, status: 'applied', snapshot }],
  [wire.LeaseControlRequest, { ...of.fence, schema: wire.LEASE_CONTROL_SCHEMA, projectId: of.projectId }],
  [wire.StopRequest, { reason: 'user' }],
  [
    wire.LeaseControlResponse,
    {
      status: 'stop_requested',
      leaseVersion: 6,
      expiresAtMs: of.atMs + 40_000,
      stop: { reason: 'user' },
    },
  ],
  [
    wire.SecretDeliveryRequest,
    {
      schema: wire.SECRET_DELIVERY_SCHEMA,
      workerGeneration: 1,
      runId: of.runId,
      attemptId: of.attemptId,
      projectId: of.projectId,
      taskId: of.taskId,
      taskRevision: of.taskRevision,
      executionDigest: of.executionDigest,
      offerId: of.offerId,
      leaseGeneration: 1,
      leaseToken: of.fence.leaseToken,
      expectedLeaseVersion: 5,
      secretRefs: [of.secretRef],
      environmentBundleRefs: [of.environmentBundleRef],
    },
  ],
  [wire.DeliveredSecret, secret],
  [
    wire.SecretDeliveryResponse,
    {
      schema: wire.SECRET_DELIVERY_SCHEMA,
      runId: of.runId,
      attemptId: of.attemptId,
      offerId: of.offerId,
      executionDigest: of.executionDigest,
      values: [secret],
      environmentBundles: [bundle],
    },
  ],
  [
    wire.ArtifactUploadHeader,
    {
      ...of.fence,
      schema: wire.ARTIFACT_UPLOAD_SCHEMA,
      logArtifactId: of.artifactId,
      byteLength: 2048,
      truncated: false,
    },
  ],
  [wire.ArtifactUploadResponse, { status: 'stored', byteLength: 2048, sha256: of.artifactSha256 }],
  [wire.ArtifactReceipt, of.receipt],
  [wire.CompletionResult, result],
  [
    wire.CompletionRequest,
    {
      ...of.fence,
      schema: wire.COMPLETION_SCHEMA,
      callbackSequence: 2,
      callbackTokenDigest: of.callbackTokenDigest,
      result: { ...result, outcome: 'failed', exitCode: null },
      artifact: of.receipt,
      reasonCode: 'killed_by_signal',
      signal: 'SIGKILL',
    },
  ],
  [
    wire.CompletionResponse,
    {
      status: 'applied',
      runId: of.runId,
      attemptId: of.attemptId,
      callbackSequence: 2,
    },
  ],
] as const;
