import { JsonCursor } from './json-cursor.js';
import { refusal, type Refuse } from './refusal.js';
import { decodeUtf8 } from './utf8.js';

const refuse: Refuse = refusal('JSON_INVALID');

/**
 * Parses strict JSON: RFC 8259 without a BOM, ill-formed UTF-8, lone surrogates, duplicate keys (however spelled) and
 * depth over 64. Objects are those of `JSON.parse`: an own `__proto__` key stays an own key.
 *
 * The cursor judges the text and `JSON.parse` only builds the value, so no message that quotes the text is ever made.
 * @throws ValiseError JSON_INVALID with the rule and, except for a duplicate key, the byte offset
 */
export function parseJson(text: Uint8Array | string): unknown {
  if (typeof text === 'string' && !text.isWellFormed()) refuse({ rule: 'lone_surrogate' });
  const bytes = typeof text === 'string' ? Buffer.from(text, 'utf8') : text;
  const cursor = new JsonCursor(bytes, refuse);
  cursor.skip();
  cursor.end();
  const value: unknown = JSON.parse(typeof text === 'string' ? text : decodeUtf8(bytes));
  // JSON.parse keeps the last of equal keys, so a duplicate is a key of the text that the value lacks.
  if (countKeys(value) !== cursor.keys) refuse({ rule: 'duplicate_key' });
  return value;
}

function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countKeys(item);
    return count;
  }
  for (const key of Object.keys(value)) count += 1 + countKeys((value as Record<string, unknown>)[key]);
  return count;
}
