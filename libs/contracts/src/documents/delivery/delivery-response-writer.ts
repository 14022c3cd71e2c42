import { ValiseError } from '../../failure/index.js';
import {
  assertDeliveredBudgets,
  assertDeliverySubject,
  refuse,
  SECRET_DELIVERY_LIMITS,
  type Delivered,
  type DeliveredMaterial,
  type DeliverySubject,
} from './delivery-response.js';
import { SECRET_DELIVERY_SCHEMA } from './delivery-scope.js';
import { escapedLength, writeEscaped } from '../json/json-escape.js';

/** Literal text, or material with its length as a JSON string. */
type Part = string | { readonly value: Uint8Array; readonly length: number };

/**
 * The response as one buffer outside V8's heap, written from bytes alone: no JavaScript string is made of a value. The
 * size is known before anything is written. The buffer and the values stay the caller's to zero.
 * @throws ValiseError REMOTE_SECRET_DELIVERY_INVALID for material that breaks its budget, has a NUL or is no UTF-8;
 * REMOTE_SECRET_DELIVERY_TOO_LARGE where legal material passes 256 KiB once it is escaped
 */
export function writeDeliveryResponse(response: DeliverySubject & DeliveredMaterial): Buffer<ArrayBuffer> {
  const { values, environmentBundles } = response;
  assertDeliverySubject(response, {
    secretRefs: values.map(({ secretRef }) => secretRef),
    environmentBundleRefs: environmentBundles.map(({ secretRef }) => secretRef),
  });
  assertDeliveredBudgets(response);
  const parts = [
    head(response),
    ...list(values, 'values'),
    '],"environmentBundles":[',
    ...list(environmentBundles, 'environmentBundles'),
    ']}',
  ];
  const actual = parts.reduce((sum, part) => sum + partLength(part), 0);
  const limit = SECRET_DELIVERY_LIMITS.responseBytes;
  if (actual > limit) {
    throw new ValiseError('REMOTE_SECRET_DELIVERY_TOO_LARGE', {
      field: 'response',
      rule: 'max_bytes',
      limit,
      actual,
    });
  }
  const document = Buffer.from(new ArrayBuffer(actual));
  let at = 0;
  for (const part of parts) {
    at =
      typeof part === 'string'
        ? at + document.write(part, at, 'utf8')
        : writeEscaped(part.value, document, at);
  }
  return document;
}

function head({ runId, attemptId, offerId, executionDigest }: DeliverySubject): string {
  const subject = { schema: SECRET_DELIVERY_SCHEMA, runId, attemptId, offerId, executionDigest };
  return `${JSON.stringify(subject).slice(0, -1)},"values":[`;
}

function list(delivered: readonly Delivered[], field: string): Part[] {
  return delivered.flatMap(({ secretRef, value }, index) => {
    const length = escapedLength(value);
    if (length < 0) refuse({ field: `${field}[${index}].value`, rule: 'utf8' });
    return [`${index === 0 ? '' : ','}{"secretRef":"${secretRef}","value":"`, { value, length }, '"}'];
  });
}

const partLength = (part: Part): number =>
  typeof part === 'string' ? Buffer.byteLength(part, 'utf8') : part.length;
