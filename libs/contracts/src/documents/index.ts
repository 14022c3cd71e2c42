export { readCommand, type Command, type Shell } from './command.js';
export {
  COMMAND_SCHEMA,
  normalizeCommandSpec,
  readCommandConfig,
  type CommandConfig,
  type CommandSpecContext,
} from './command-config.js';
export {
  SECRET_DELIVERY_LIMITS,
  type Delivered,
  type DeliveredMaterial,
  type DeliverySubject,
} from './delivery-response.js';
export { readDeliveryResponse, type OpenDelivery } from './delivery-response-reader.js';
export { writeDeliveryResponse } from './delivery-response-writer.js';
export { assertDeliveryScope, SECRET_DELIVERY_SCHEMA, type DeliveryReferences } from './delivery-scope.js';
export { sha256Hex } from './digest.js';
export { type DeclaredEnvironment, type EnvironmentBinding } from './environment-binding.js';
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
} from './environment-bundle.js';
export { environmentNameBreach, RESERVED_PREFIX } from './environment-name.js';
export {
  createExecutionRevision,
  EXECUTION_PLAN_SCHEMA,
  executionReferences,
  executionRevisionPreimage,
  readExecutionRevision,
  type ExecutionPlan,
  type ExecutionRevision,
} from './execution-revision.js';
export { parseJson } from './json.js';
export { leaseTokenDigest } from './lease-token.js';
export {
  appliedTaskItemDigest,
  appliedTriggerItemDigest,
  type AppliedTaskItem,
  type AppliedTriggerItem,
} from './legacy-ledger.js';
export {
  createLegacyPlan,
  LEGACY_PLAN_SCHEMA,
  type LegacyPlan,
  type LegacyPlanIntent,
} from './legacy-plan.js';
export {
  createLegacyReceipt,
  LEGACY_RECEIPT_SCHEMA,
  type LegacyApplication,
  type LegacyReceipt,
} from './legacy-receipt.js';
export {
  digestLegacyTaskSet,
  digestLegacyTriggerSet,
  type LegacySetDigests,
  type LegacyTaskItem,
  type LegacyTriggerItem,
} from './legacy-set.js';
export { logArtifactId } from './log-artifact.js';
export { refusedNameClass, REFUSED_NAMES, type RefusedNameClass } from './name-policy.js';
export { compareFixed } from './order.js';
export {
  effectivePlacement,
  normalizePlacement,
  REMOTE_WORKER,
  type Placement,
  type Preference,
  type RequiredPlatform,
} from './placement.js';
export {
  evaluatePlacement,
  matchPlacement,
  PROTOCOL_RANGE,
  type PlacementMatch,
  type PlacementMismatch,
  type PlacementWorker,
} from './placement-match.js';
export { type Architecture, type Labels, type SupportTier } from './platform.js';
export {
  createSecretReference,
  parseSecretReference,
  projectionFileName,
  type SecretName,
  type SecretReference,
} from './secret-reference.js';
export { type Spec } from './specification.js';
export { compileExecutionRevision, compileLocalExecution, type LocalExecution } from './task-compilation.js';
export {
  createTaskDefinition,
  readTaskDefinition,
  taskDefinitionDigest,
  taskDefinitionPreimage,
  type PutTaskCommand,
  type TaskContent,
  type TaskDefinition,
} from './task-definition.js';
export {
  createTaskRevisionRef,
  parseTaskRevisionRef,
  writeTaskRevisionRef,
  type TaskRevisionRef,
} from './task-revision-ref.js';
export { TASK_KINDS, type TaskKind } from './task-specification.js';
export { createTrigger, type PutTriggerCommand, type TriggerDefinition } from './trigger.js';
export { CRON_SCHEMA, normalizeTriggerSpec, type TriggerSpecContext } from './cron-config.js';
export {
  parseCapabilities,
  writeCapabilities,
  type WorkerCapabilities,
  type WorkerCapacity,
} from './worker-capabilities.js';
export { parseSpiffeId, type SpiffeId } from './spiffe-id.js';
