import { describeError } from '@valise/contracts/failure';

const MAX_DEPTH = 4;
const MAX_TEXT = 512;
const MAX_ITEMS = 64;

/**
 * The fields of a line as plain data: texts, numbers, truth values, and lists and records of these. An error, wherever it
 * lies, becomes what may be said of it; of any other object only its kind is told, and its methods are never called.
 */
export function plainFields(fields: object): Record<string, unknown> {
  const plain: Record<string, unknown> = {};
  for (const key of Object.keys(fields).slice(0, MAX_ITEMS)) plain[key] = plainValue(read(fields, key), 1);
  return plain;
}

function plainValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT);
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  if (typeof value !== 'object') return value === undefined ? undefined : typeof value;
  if (value instanceof Error) return describeError(value);
  if (depth === MAX_DEPTH) return 'object';
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => plainValue(item, depth + 1));
  if (!isPlain(value)) return 'object';
  const entries = Object.keys(value).slice(0, MAX_ITEMS);
  return Object.fromEntries(entries.map((key) => [key, plainValue(read(value, key), depth + 1)]));
}

/** A literal, without a say in how it is written down. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !('toJSON' in value);
}

function read(object: object, key: string): unknown {
  const property = Object.getOwnPropertyDescriptor(object, key);
  return property && 'value' in property ? property.value : 'getter';
}
