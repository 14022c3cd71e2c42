export { readCommand, type Command, type Shell } from './tasks/command.js';
export {
  COMMAND_SCHEMA,
  normalizeCommandSpec,
  readCommandConfig,
  type CommandConfig,
  type CommandSpecContext,
} from './tasks/command-config.js';
export {
  SECRET_DELIVERY_LIMITS,
  type Delivered,
  type DeliveredMaterial,
  type DeliverySubject,
} from './delivery/delivery-response.js';
export { readDeliveryResponse, type OpenDelivery } from './delivery/delivery-response-reader.js';
export { writeDeliveryResponse } from './delivery/delivery-response-writer.js';
export {
  assertDeliveryScope,
  SECRET_DELIVERY_SCHEMA,
  type DeliveryReferences,
} from './delivery/delivery-scope.js';
export { sha256Hex } from './text/digest.js';
export { type DeclaredEnvironment, type EnvironmentBinding } from './environment/environment-binding.js';
export {
  ENVIRONMENT_BUNDLE_LIMITS,
  ENVIRONMENT_BUNDLE_SCHEMA,
  parseEnvironmentBundle,
  readEnvironmentBundle,
  serializeEnvironmentBundle,
  writeEnvironmentBundle,
  type EnvironmentBundle,
  type EnvironmentEntry,
  type OpenBundle,
} from './environment/environment-bundle.js';
export { environmentNameBreach, RESERVED_PREFIX } from './environment/environment-name.js';
export {
  createExecutionRevision,
  EXECUTION_PLAN_SCHEMA,
  executionReferences,
  executionRevisionPreimage,
  readExecutionRevision,
  type ExecutionPlan,
  type ExecutionRevision,
} from './tasks/execution-revision.js';
export { parseJson } from './json/json.js';
export { leaseTokenDigest } from './delivery/lease-token.js';
export {
  appliedTaskItemDigest,
  appliedTriggerItemDigest,
  type AppliedTaskItem,
  type AppliedTriggerItem,
} from './legacy/legacy-ledger.js';
export {
  createLegacyPlan,
  LEGACY_PLAN_SCHEMA,
  type LegacyPlan,
  type LegacyPlanIntent,
} from './legacy/legacy-plan.js';
export {
  createLegacyReceipt,
  LEGACY_RECEIPT_SCHEMA,
  type LegacyApplication,
  type LegacyReceipt,
} from './legacy/legacy-receipt.js';
export {
  digestLegacyTaskSet,
  digestLegacyTriggerSet,
  type LegacySetDigests,
  type LegacyTaskItem,
  type LegacyTriggerItem,
} from './legacy/legacy-set.js';
export { logArtifactId } from './logs/log-artifact.js';
export {
  readLogRecords,
  textOfLog,
  writeLogRecords,
  type LogRecord,
  type LogStream,
} from './logs/log-record.js';
export { refusedNameClass, REFUSED_NAMES, type RefusedNameClass } from './environment/name-policy.js';
export { compareFixed } from './text/order.js';
export {
  effectivePlacement,
  normalizePlacement,
  REMOTE_WORKER,
  type Placement,
  type Preference,
  type RequiredPlatform,
} from './workers/placement.js';
export {
  evaluatePlacement,
  matchPlacement,
  PROTOCOL_RANGE,
  type PlacementMatch,
  type PlacementMismatch,
  type PlacementWorker,
} from './workers/placement-match.js';
export { type Architecture, type Labels, type SupportTier } from './workers/platform.js';
export {
  createSecretReference,
  parseSecretReference,
  projectionFileName,
  type SecretName,
  type SecretReference,
} from './environment/secret-reference.js';
export { type Spec } from './tasks/specification.js';
export {
  compileExecutionRevision,
  compileLocalExecution,
  type LocalExecution,
} from './tasks/task-compilation.js';
export {
  createTaskDefinition,
  readTaskDefinition,
  taskDefinitionDigest,
  taskDefinitionPreimage,
  type PutTaskCommand,
  type TaskContent,
  type TaskDefinition,
} from './tasks/task-definition.js';
export {
  createTaskRevisionRef,
  parseTaskRevisionRef,
  writeTaskRevisionRef,
  type TaskRevisionRef,
} from './tasks/task-revision-ref.js';
export { TASK_KINDS, type TaskKind } from './tasks/task-specification.js';
export { createTrigger, type PutTriggerCommand, type TriggerDefinition } from './tasks/trigger.js';
export { CRON_SCHEMA, normalizeTriggerSpec, type TriggerSpecContext } from './tasks/cron-config.js';
export {
  parseCapabilities,
  writeCapabilities,
  type WorkerCapabilities,
  type WorkerCapacity,
} from './workers/worker-capabilities.js';
export { parseSpiffeId, type SpiffeId } from './workers/spiffe-id.js';
