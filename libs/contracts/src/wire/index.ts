export * from './activation.dto.js';
export * from './artifact.dto.js';
export * from './completion.dto.js';
export {
  isRecord,
  LEASE_TOKEN,
  LOG_ARTIFACT_ID,
  UUID_V4,
  UUID_V7,
  WORKER_ID,
  type FieldSchema,
} from './fields.js';
export * from './lease.dto.js';
export * from './audit.dto.js';
export * from './management-path.dto.js';
export * from './offer.dto.js';
export { rulesOf, type BodyRule } from './rules.js';
export { fieldsOf, readBody, type DtoField } from './read.js';
export * from './secret-delivery.dto.js';
export * from './session.dto.js';
export * from './worker.dto.js';
export * from './task.dto.js';
export * from './run.dto.js';
export * from './delivery-record.dto.js';
export * from './problem.dto.js';
