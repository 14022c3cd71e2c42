import type { Refuse } from '../refusal.js';

/** A record's own data properties, without a prototype: reading one can neither run code nor find an inherited key. */
export type Plain = Readonly<Record<string, unknown>>;

/**
 * Copies an object whose own keys are exactly `required` and, where present, `optional`; a property that is
 * `undefined` is absent. Accessors, symbols, unknown keys and objects with a class are refused.
 */
export function readRecord(
  value: unknown,
  required: readonly string[],
  optional: readonly string[],
  field: string,
  refuse: Refuse,
): Plain {
  const record = readPlain(value, field, refuse);
  for (const key of required) if (!(key in record)) refuse({ field: `${field}.${key}`, rule: 'required' });
  for (const key of Object.keys(record)) {
    if (!required.includes(key) && !optional.includes(key)) refuse({ field, rule: 'unknown_key' });
  }
  return record;
}

/** Copies an object with any keys, such as labels. */
export function readPlain(value: unknown, field: string, refuse: Refuse): Plain {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse({ field, rule: 'object' });
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) refuse({ field, rule: 'plain_object' });
  const record = Object.create(null) as Record<string, unknown>;
  for (const key of Reflect.ownKeys(value)) {
    const data = ownData(value, key, field, refuse);
    if (data !== undefined) record[key as string] = data;
  }
  return record;
}

/** Copies an array of at most `max` items; holes, accessors and further keys are refused. */
export function readList(value: unknown, max: number, field: string, refuse: Refuse): unknown[] {
  if (!Array.isArray(value)) refuse({ field, rule: 'array' });
  const { length } = value;
  if (length > max) refuse({ field, rule: 'max_items', limit: max, actual: length });
  if (Reflect.ownKeys(value).length !== length + 1) refuse({ field, rule: 'plain_array' });
  return Array.from({ length }, (_, index) => ownData(value, String(index), field, refuse));
}

function ownData(value: object, key: string | symbol, field: string, refuse: Refuse): unknown {
  const property = Reflect.getOwnPropertyDescriptor(value, key);
  if (typeof key === 'symbol' || !property?.enumerable || !('value' in property)) {
    refuse({ field, rule: 'data_property' });
  }
  return property.value;
}
