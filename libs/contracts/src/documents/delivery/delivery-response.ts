import { readDeliveryReferences, type DeliveryReferences } from './delivery-scope.js';
import { refusal, type Refuse } from '../refusal.js';
import { digest, identifier } from '../text/text.js';

/** In UTF-8 bytes (wire.md §5). */
export const SECRET_DELIVERY_LIMITS = {
  responseBytes: 256 * 1024,
  valueBytes: 16 * 1024,
  valuesBytes: 64 * 1024,
  bundleBytes: 96 * 1024,
} as const;

/** The four facts that tie a response to one claim. */
export interface DeliverySubject {
  readonly runId: string;
  readonly attemptId: string;
  readonly offerId: string;
  readonly executionDigest: string;
}

/** The material of one reference. */
export interface Delivered {
  readonly secretRef: string;
  readonly value: Uint8Array;
}

export interface DeliveredMaterial {
  readonly values: readonly Delivered[];
  readonly environmentBundles: readonly Delivered[];
}

export const refuse: Refuse = refusal('REMOTE_SECRET_DELIVERY_INVALID');

const MAX_RUN_ID_BYTES = 36;

/** Passes only a subject and lists that a response may have; the limits on runId and attemptId are the response's own. */
export function assertDeliverySubject(subject: DeliverySubject, references: DeliveryReferences): void {
  identifier(subject.runId, 'runId', refuse, MAX_RUN_ID_BYTES);
  identifier(subject.attemptId, 'attemptId', refuse, MAX_RUN_ID_BYTES);
  identifier(subject.offerId, 'offerId', refuse);
  digest(subject.executionDigest, 'executionDigest', refuse);
  readDeliveryReferences(references);
}

/** Passes only material within its budgets and without NUL; its bytes are not looked at otherwise. */
export function assertDeliveredBudgets({ values, environmentBundles }: DeliveredMaterial): void {
  const { valueBytes, valuesBytes, bundleBytes } = SECRET_DELIVERY_LIMITS;
  assertValues(values, 'values', valueBytes);
  assertValues(environmentBundles, 'environmentBundles', bundleBytes);
  const actual = values.reduce((sum, { value }) => sum + value.length, 0);
  if (actual > valuesBytes) refuse({ field: 'values', rule: 'total_bytes', limit: valuesBytes, actual });
}

function assertValues(delivered: readonly Delivered[], field: string, limit: number): void {
  for (const [index, { value }] of delivered.entries()) {
    const at = `${field}[${index}].value`;
    if (value.length > limit) refuse({ field: at, rule: 'max_bytes', limit, actual: value.length });
    if (value.includes(0)) refuse({ field: at, rule: 'nul' });
  }
}
