import { getMetadataStorage } from 'class-validator';
import { ValiseError, type Facts, type FailureCode } from '../failure/index.js';
import { FIELD, isOptional, isRecord, type FieldRule } from './fields.js';
import { rulesOf } from './rules.js';

type Dto<T extends object = object> = new () => T;

/** A decorated field of a DTO class, as class-validator keeps it. */
export interface DtoField extends FieldRule {
  readonly name: string;
  readonly optional: boolean;
}

const cache = new WeakMap<Dto, ReadonlyMap<string, DtoField>>();

/** The fields of a DTO class in the order they are declared. */
export function fieldsOf(type: Dto): ReadonlyMap<string, DtoField> {
  const known = cache.get(type);
  if (known) return known;
  const fields = new Map<string, DtoField>();
  for (const metadata of getMetadataStorage().getTargetValidationMetadatas(type, '', false, false)) {
    if (metadata.name !== FIELD) continue;
    const rule = (metadata.constraints as FieldRule[])[0];
    const name = metadata.propertyName;
    if (rule) fields.set(name, { ...rule, name, optional: isOptional(type, name) });
  }
  cache.set(type, fields);
  return fields;
}

/**
 * Turns parsed JSON into a validated instance: exactly the declared keys, no conversion, no defaults, and every rule of
 * its classes kept.
 * @throws ValiseError `code`, with the path of the first broken field, the rule and its figures; never a value.
 */
export function readBody<T extends object>(type: Dto<T>, json: unknown, code: FailureCode): T {
  assertExactKeys(type, json, '', code);
  const body = instantiate(type, json as Record<string, unknown>);
  const breach = firstBreach(type, json, '');
  if (breach) throw new ValiseError(code, breach);
  const broken = firstBrokenRule(type, body, '');
  if (broken) throw new ValiseError(code, broken);
  return body;
}

/**
 * An instance with exactly the declared fields. Opaque values are handed on as they were parsed: class-transformer would
 * drop their `__proto__` and `constructor` keys silently, and call whatever stands at `constructor`.
 */
function instantiate<T extends object>(type: Dto<T>, json: Record<string, unknown>): T {
  const body = new type();
  for (const { name, nested } of fieldsOf(type).values()) {
    if (!Object.hasOwn(json, name)) continue;
    const value = json[name];
    const one = (item: unknown): unknown => (nested && isRecord(item) ? instantiate(nested(), item) : item);
    (body as Record<string, unknown>)[name] = nested && Array.isArray(value) ? value.map(one) : one(value);
  }
  return body;
}

/** Unknown keys are refused on the parsed JSON: a dropped key is a refusal that nobody hears of. */
function assertExactKeys(type: Dto, json: unknown, path: string, code: FailureCode): void {
  const field = path.slice(0, -1) || 'body';
  if (!isRecord(json)) throw new ValiseError(code, { field, rule: 'object' });
  const fields = fieldsOf(type);
  for (const key of Object.keys(json)) {
    if (!fields.has(key)) throw new ValiseError(code, { field, rule: 'unknown_key' });
  }
  for (const { name, nested } of fields.values()) {
    if (!nested || !Object.hasOwn(json, name)) continue;
    for (const [child, at] of children(json[name], `${path}${name}`)) {
      if (isRecord(child)) assertExactKeys(nested(), child, `${at}.`, code);
    }
  }
}

function firstBreach(type: Dto, json: unknown, path: string): Facts | null {
  const record = json as Record<string, unknown>;
  for (const { name, optional, check, nested } of fieldsOf(type).values()) {
    const field = `${path}${name}`;
    if (!Object.hasOwn(record, name)) {
      if (optional) continue;
      return { field, rule: 'required' };
    }
    const broken = check(record[name]);
    if (broken) return { field, ...broken };
    if (!nested) continue;
    for (const [child, at] of children(record[name], field)) {
      const below = firstBreach(nested(), child, `${at}.`);
      if (below) return below;
    }
  }
  return null;
}

function firstBrokenRule<T extends object>(type: Dto<T>, body: T, path: string): Facts | null {
  for (const { check } of rulesOf(type)) {
    const broken = check(body);
    if (broken) return { ...broken, field: `${path}${String(broken.field)}` };
  }
  for (const { name, nested } of fieldsOf(type).values()) {
    const value = (body as Record<string, unknown>)[name];
    if (!nested || value === undefined) continue;
    for (const [child, at] of children(value, `${path}${name}`)) {
      const below = firstBrokenRule(nested(), child as object, `${at}.`);
      if (below) return below;
    }
  }
  return null;
}

/** The objects below a nested field, each with its path. */
function children(value: unknown, path: string): [unknown, string][] {
  return Array.isArray(value) ? value.map((item, index) => [item, `${path}[${index}]`]) : [[value, path]];
}
