export { assertDeliveryScope, SECRET_DELIVERY_SCHEMA, type DeliveryReferences } from './delivery-scope.js';
export {
  SECRET_DELIVERY_LIMITS,
  type Delivered,
  type DeliveredMaterial,
  type DeliverySubject,
} from './delivery-response.js';
export { readDeliveryResponse, type OpenDelivery } from './delivery-response-reader.js';
export { writeDeliveryResponse } from './delivery-response-writer.js';
export { sha256Hex } from './digest.js';
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
export { parseJson } from './json.js';
export { leaseTokenDigest } from './lease-token.js';
export { logArtifactId } from './log-artifact.js';
export { compareFixed } from './order.js';
export {
  createSecretReference,
  parseSecretReference,
  projectionFileName,
  type SecretName,
  type SecretReference,
} from './secret-reference.js';
