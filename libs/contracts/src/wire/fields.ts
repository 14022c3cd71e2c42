import 'reflect-metadata';
import { ValidateBy, ValidateIf, ValidateNested } from 'class-validator';
import type { Facts } from '../failure/index.js';

/** The JSON Schema fragment of a field, as it stands in the OpenAPI documents. */
export type FieldSchema = Readonly<Record<string, unknown>>;

/** What class-validator keeps for a field of ours: the schema to publish, the check to make, the class below it. */
export interface FieldRule {
  readonly schema: FieldSchema;
  /** The broken rule with its figures (never the value), or null when `value` is fine. */
  readonly check: (value: unknown) => Facts | null;
  readonly nested?: () => new () => object;
}

export const FIELD = 'valiseField';
const OPTIONAL = 'valiseOptional';

function field(rule: FieldRule): PropertyDecorator {
  return ValidateBy({
    name: FIELD,
    constraints: [rule],
    validator: { validate: (value) => rule.check(value) === null },
  });
}

const utf8Bytes = (text: string): number => Buffer.byteLength(text, 'utf8');
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f]/;

/** The field may be absent. `null` is not absent: it is checked like any value, and refused. */
export function Optional(): PropertyDecorator {
  const absent = ValidateIf((_object: unknown, value: unknown) => value !== undefined);
  return (target, key) => {
    absent(target, key);
    Reflect.defineMetadata(OPTIONAL, true, target, key);
  };
}

export function isOptional(type: new () => object, key: string): boolean {
  return Reflect.hasMetadata(OPTIONAL, type.prototype as object, key);
}

interface TextLimits {
  readonly min?: number;
  readonly max: number;
  readonly pattern?: RegExp;
  readonly anyCharacter?: boolean;
}

/** Well-formed text of `min`…`max` UTF-8 bytes, without control characters unless `anyCharacter`. */
export function Text(limits: TextLimits): PropertyDecorator {
  return field({ schema: textSchema(limits), check: (value) => checkText(value, limits) });
}

/**
 * JSON Schema counts characters where the wire counts bytes: its bounds are true but wider, the description is exact.
 */
function textSchema({ min = 1, max, pattern, anyCharacter = false }: TextLimits): FieldSchema {
  const size = min === max ? `${max}` : `${min} to ${max}`;
  const characters = anyCharacter ? '' : ', without control characters';
  return {
    type: 'string',
    description: `${size} bytes of well-formed UTF-8${characters}.`,
    minLength: pattern ? min : Math.min(min, 1),
    maxLength: max,
    ...(pattern && { pattern: pattern.source }),
    ...(!pattern && !anyCharacter && { pattern: '^[^\\u0000-\\u001f\\u007f]*$' }),
  };
}

function checkText(
  value: unknown,
  { min = 1, max, pattern, anyCharacter = false }: TextLimits,
): Facts | null {
  if (typeof value !== 'string') return { rule: 'string' };
  if (!value.isWellFormed()) return { rule: 'well_formed' };
  const actual = utf8Bytes(value);
  if (actual < min) return { rule: 'min_bytes', limit: min, actual };
  if (actual > max) return { rule: 'max_bytes', limit: max, actual };
  if (!anyCharacter && CONTROL_CHARACTERS.test(value)) return { rule: 'control_character' };
  return pattern && !pattern.test(value) ? { rule: 'pattern' } : null;
}

/** wire.md "Identifier": 1–128 bytes, well-formed, no control characters. */
export const Identifier = (): PropertyDecorator => Text({ max: 128 });

/** SHA-256 in lower-case hex. */
export const Digest = (): PropertyDecorator => Text({ min: 64, max: 64, pattern: /^[0-9a-f]{64}$/ });

export const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const UUID_ANY = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
export const WORKER_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
export const LEASE_TOKEN = /^[A-Za-z0-9_-]{32,128}$/;
export const LOG_ARTIFACT_ID = /^wlog-[0-9a-f]{30}$/;

/** A lower-case UUID of any version, such as a mutation id. */
export const Uuid = (): PropertyDecorator => Text({ min: 36, max: 36, pattern: UUID_ANY });

export const LeaseToken = (): PropertyDecorator => Text({ min: 32, max: 128, pattern: LEASE_TOKEN });

export function Integer(min: number, max: number): PropertyDecorator {
  return field({
    schema: { type: 'integer', minimum: min, maximum: max },
    check: (value) => checkInteger(value, min, max),
  });
}

export function IntegerOrNull(min: number, max: number): PropertyDecorator {
  return field({
    schema: { type: ['integer', 'null'], minimum: min, maximum: max },
    check: (value) => (value === null ? null : checkInteger(value, min, max)),
  });
}

function checkInteger(value: unknown, min: number, max: number): Facts | null {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return { rule: 'integer' };
  if (value < min) return { rule: 'minimum', limit: min, actual: value };
  return value > max ? { rule: 'maximum', limit: max, actual: value } : null;
}

export const MAX_INT32 = 2147483647;

/** Generations start at 1. */
export const Generation = (): PropertyDecorator => Integer(1, MAX_INT32);
/** Versions start at 0. */
export const Version = (): PropertyDecorator => Integer(0, MAX_INT32);
/** Milliseconds since the epoch, on the clock of the database. */
export const TimeMs = (): PropertyDecorator => Integer(0, Number.MAX_SAFE_INTEGER);

export function Flag(): PropertyDecorator {
  return field({
    schema: { type: 'boolean' },
    check: (value) => (typeof value === 'boolean' ? null : { rule: 'boolean' }),
  });
}

/** Exactly one of the given texts or numbers, or null where null is among them. */
export function OneOf(choices: readonly (string | number | null)[]): PropertyDecorator {
  return field({
    schema: choices.length === 1 ? { const: choices[0] } : { enum: choices },
    check: (value) => (choices.some((choice) => choice === value) ? null : { rule: 'one_of' }),
  });
}

/** Any JSON object; its own document parser judges what is in it. */
export function Opaque(description: string): PropertyDecorator {
  return field({
    schema: { type: 'object', description },
    check: (value) => (isRecord(value) ? null : { rule: 'object' }),
  });
}

/** One object of another DTO class. */
export function Nested(type: () => new () => object): PropertyDecorator {
  const check = (value: unknown): Facts | null => (isRecord(value) ? null : { rule: 'object' });
  return nested({ schema: { type: 'object' }, check, nested: type });
}

/** A list of objects of another DTO class. */
export function ListOf(type: () => new () => object, max: number): PropertyDecorator {
  const check = (value: unknown): Facts | null => {
    if (!Array.isArray(value)) return { rule: 'array' };
    if (value.length > max) return { rule: 'max_items', limit: max, actual: value.length };
    return value.every(isRecord) ? null : { rule: 'object' };
  };
  return nested({ schema: { type: 'array', maxItems: max }, check, nested: type });
}

function nested(rule: FieldRule): PropertyDecorator {
  const parts = [ValidateNested(), field(rule)];
  return (target, key) => {
    for (const part of parts) part(target, key);
  };
}

/** A list of distinct texts, each of 1…`max` UTF-8 bytes and matching `pattern` where one is given. */
export function Texts(
  limits: TextLimits & { readonly maxItems: number; readonly minItems?: number },
): PropertyDecorator {
  const { maxItems, minItems = 0 } = limits;
  return field({
    schema: { type: 'array', minItems, maxItems, uniqueItems: true, items: textSchema(limits) },
    check: (value) => {
      if (!Array.isArray(value)) return { rule: 'array' };
      if (value.length < minItems) return { rule: 'min_items', limit: minItems, actual: value.length };
      if (value.length > maxItems) return { rule: 'max_items', limit: maxItems, actual: value.length };
      for (const [index, text] of value.entries()) {
        const broken = checkText(text, limits);
        if (broken) return { ...broken, index };
      }
      return new Set(value).size === value.length ? null : { rule: 'unique' };
    },
  });
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
