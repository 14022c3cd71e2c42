import 'reflect-metadata';
import type { Facts } from '../failure/index.js';

/** A rule over several fields of one DTO class, which no single field can keep. */
export interface BodyRule<T extends object> {
  /** The rule as a sentence, as it stands in the OpenAPI document. */
  readonly says: string;
  /** The field that breaks the rule and the rule's name (never the value), or null; every field is valid by itself. */
  readonly check: (body: T) => Facts | null;
}

const RULES = 'valiseRules';

/** Bodies of the class, and of those that extend it, keep the rule on both sides of the wire. */
export function Rule<T extends object>(rule: BodyRule<T>): (type: new () => T) => void {
  return (type) => {
    Reflect.defineMetadata(RULES, [rule, ...rulesOf(type)], type);
  };
}

/** The rules of a class in the order they are written. */
export function rulesOf<T extends object>(type: new () => T): readonly BodyRule<T>[] {
  return (Reflect.getMetadata(RULES, type) as BodyRule<T>[] | undefined) ?? [];
}

/** `field` is present exactly where `when` holds. */
export function Present<T extends object>(
  field: keyof T & string,
  says: string,
  when: (body: T) => boolean,
): (type: new () => T) => void {
  return Rule<T>({
    says,
    check: (body) => {
      if ((body[field] !== undefined) === when(body)) return null;
      return { field, rule: when(body) ? 'required' : 'not_allowed' };
    },
  });
}
