import { DIGEST } from './digest.js';
import type { Refuse } from '../refusal.js';
import { utf8Bytes } from './utf8.js';

export const MAX_INT32 = 2147483647;

const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f]/;

/** Well-formed text of `min`…`max` UTF-8 bytes without NUL. */
export function text(value: unknown, min: number, max: number, field: string, refuse: Refuse): string {
  if (typeof value !== 'string') refuse({ field, rule: 'string' });
  if (!value.isWellFormed()) refuse({ field, rule: 'well_formed' });
  const actual = utf8Bytes(value);
  if (actual < min) refuse({ field, rule: 'min_bytes', limit: min, actual });
  if (actual > max) refuse({ field, rule: 'max_bytes', limit: max, actual });
  if (value.includes('\0')) refuse({ field, rule: 'nul' });
  return value;
}

/** wire.md "Identifier": 1–128 bytes, well-formed, no C0 control character, no DEL. */
export function identifier(value: unknown, field: string, refuse: Refuse, max = 128): string {
  const id = text(value, 1, max, field, refuse);
  if (CONTROL_CHARACTERS.test(id)) refuse({ field, rule: 'control_character' });
  return id;
}

/** Text that matches a pattern as a whole. */
export function matching(value: unknown, pattern: RegExp, field: string, refuse: Refuse): string {
  if (typeof value !== 'string') refuse({ field, rule: 'string' });
  if (!pattern.test(value)) refuse({ field, rule: 'pattern' });
  return value;
}

/** SHA-256 in lower-case hex. */
export const digest = (value: unknown, field: string, refuse: Refuse): string =>
  matching(value, DIGEST, field, refuse);

/** An integer of `min`…`max`; -0 is 0. */
export function integer(value: unknown, min: number, max: number, field: string, refuse: Refuse): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) refuse({ field, rule: 'integer' });
  if (value < min) refuse({ field, rule: 'minimum', limit: min, actual: value });
  if (value > max) refuse({ field, rule: 'maximum', limit: max, actual: value });
  return value + 0;
}

/** One of a closed list. */
export function oneOf<T extends string>(
  value: unknown,
  choices: readonly T[],
  field: string,
  refuse: Refuse,
): T {
  const choice = choices.find((candidate) => candidate === value);
  if (choice === undefined) refuse({ field, rule: 'one_of' });
  return choice;
}
