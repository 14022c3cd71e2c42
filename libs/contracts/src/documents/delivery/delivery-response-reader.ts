import { Arena, type Range } from '../json/arena.js';
import {
  assertDeliveredBudgets,
  assertDeliverySubject,
  refuse,
  SECRET_DELIVERY_LIMITS,
  type Delivered,
  type DeliveredMaterial,
  type DeliverySubject,
} from './delivery-response.js';
import { SECRET_DELIVERY_SCHEMA, type DeliveryReferences } from './delivery-scope.js';
import { JsonCursor } from '../json/json-cursor.js';
import { readMembers } from '../json/record-cursor.js';

/** Delivered material as views into one piece of memory that `wipe` zeroes. */
export interface OpenDelivery extends DeliveredMaterial {
  wipe(): void;
}

const KEYS = [
  'schema',
  'runId',
  'attemptId',
  'offerId',
  'executionDigest',
  'values',
  'environmentBundles',
] as const;

/**
 * Opens a delivery response that answers exactly what was asked: run, attempt, offer, digest and both complete ordered
 * reference lists are compared before a value is given out. No JavaScript string is made of anything in it. The bytes
 * themselves stay the caller's to zero.
 * @throws ValiseError REMOTE_SECRET_DELIVERY_INVALID with the rule, and the field or the offset; a limit with its count
 */
export function readDeliveryResponse(
  bytes: Uint8Array,
  expected: DeliverySubject & DeliveryReferences,
): OpenDelivery {
  const { responseBytes } = SECRET_DELIVERY_LIMITS;
  if (bytes.length > responseBytes) {
    refuse({ field: 'response', rule: 'max_bytes', limit: responseBytes, actual: bytes.length });
  }
  assertDeliverySubject(expected, expected);
  const arena = new Arena(bytes.length);
  try {
    const material = new ResponseReader(new JsonCursor(bytes, refuse), arena).read(expected);
    assertDeliveredBudgets(material);
    return {
      ...material,
      wipe: () => {
        arena.wipe();
      },
    };
  } catch (error) {
    arena.wipe();
    throw error;
  }
}

class ResponseReader {
  constructor(
    private readonly cursor: JsonCursor,
    private readonly arena: Arena,
  ) {}

  read(expected: DeliverySubject & DeliveryReferences): DeliveredMaterial {
    const material: { values: Delivered[]; environmentBundles: Delivered[] } = {
      values: [],
      environmentBundles: [],
    };
    readMembers(this.cursor, this.arena, KEYS, (key) => {
      if (key === 'values') material.values = this.#list(expected.secretRefs, key);
      else if (key === 'environmentBundles') {
        material.environmentBundles = this.#list(expected.environmentBundleRefs, key);
      } else this.#same(key === 'schema' ? SECRET_DELIVERY_SCHEMA : expected[key], key);
    });
    this.cursor.end();
    return material;
  }

  #list(references: readonly string[], field: string): Delivered[] {
    const delivered: Delivered[] = [];
    const count = this.cursor.list((index) => {
      const secretRef = references[index];
      if (secretRef === undefined) {
        this.cursor.skip();
        return;
      }
      delivered.push({ secretRef, value: this.#value(secretRef, `${field}[${index}].secretRef`) });
    });
    if (count !== references.length) {
      refuse({ field, rule: 'item_count', limit: references.length, actual: count });
    }
    return delivered;
  }

  #value(secretRef: string, field: string): Uint8Array {
    let value: Range = { start: 0, end: 0 };
    readMembers(this.cursor, this.arena, ['secretRef', 'value'], (key) => {
      if (key === 'secretRef') this.#same(secretRef, field);
      else value = this.#text();
    });
    return this.arena.view(value);
  }

  #same(expected: string, field: string): void {
    const mark = this.arena.length;
    if (!this.arena.equals(this.#text(), expected)) refuse({ field, rule: 'mismatch' });
    this.arena.rewind(mark);
  }

  #text(): Range {
    return this.arena.append((into, at) => this.cursor.text(into, at));
  }
}
