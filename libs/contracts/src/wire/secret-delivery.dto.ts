import { assertDeliveryScope, SECRET_DELIVERY_SCHEMA } from '../documents/index.js';
import { ValiseError, type Facts } from '../failure/index.js';
import { Digest, Generation, Identifier, LeaseToken, ListOf, OneOf, Text, Texts, Version } from './fields.js';
import { Rule } from './rules.js';

export { SECRET_DELIVERY_SCHEMA };

const SECRET_REFERENCE = /^qlsecret:v1:[A-Za-z0-9_-]+$/;

/** wire.md §5: exactly these 14 keys, written in this order. */
@Rule<SecretDeliveryRequest>({
  says:
    'References are canonical, of the request’s project, distinct in both lists together, and at least one; ' +
    'the bundle’s is pinned.',
  check: brokenScope,
})
export class SecretDeliveryRequest {
  @OneOf([SECRET_DELIVERY_SCHEMA])
  schema: typeof SECRET_DELIVERY_SCHEMA;

  @Generation()
  workerGeneration: number;

  @Identifier()
  runId: string;

  @Identifier()
  attemptId: string;

  @Identifier()
  projectId: string;

  @Identifier()
  taskId: string;

  @Identifier()
  taskRevision: string;

  @Digest()
  executionDigest: string;

  @Identifier()
  offerId: string;

  @Generation()
  leaseGeneration: number;

  @LeaseToken()
  leaseToken: string;

  @Version()
  expectedLeaseVersion: number;

  /** Ordinary secrets, in the order of the execution revision. */
  @Texts({ max: 512, maxItems: 64, pattern: SECRET_REFERENCE })
  secretRefs: string[];

  /** The one bundle, pinned; never also a secret. */
  @Texts({ max: 512, maxItems: 1, pattern: SECRET_REFERENCE })
  environmentBundleRefs: string[];
}

export class DeliveredSecret {
  @Text({ max: 512, pattern: SECRET_REFERENCE })
  secretRef: string;

  @Text({ min: 0, max: 96 * 1024, anyCharacter: true })
  value: string;
}

/**
 * Documents the answer and nothing else: control writes it from buffers and the worker reads it as bytes, so that no
 * secret ever becomes a string.
 */
export class SecretDeliveryResponse {
  @OneOf([SECRET_DELIVERY_SCHEMA])
  schema: typeof SECRET_DELIVERY_SCHEMA;

  @Text({ max: 36 })
  runId: string;

  @Text({ max: 36 })
  attemptId: string;

  @Identifier()
  offerId: string;

  @Digest()
  executionDigest: string;

  @ListOf(() => DeliveredSecret, 64)
  values: DeliveredSecret[];

  @ListOf(() => DeliveredSecret, 1)
  environmentBundles: DeliveredSecret[];
}

function brokenScope(request: SecretDeliveryRequest): Facts | null {
  try {
    assertDeliveryScope(request);
    return null;
  } catch (error) {
    if (error instanceof ValiseError) return error.facts;
    throw error;
  }
}
