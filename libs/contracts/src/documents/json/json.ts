import { JsonCursor, MAX_JSON_DEPTH } from './json-cursor.js';
import { refusal, type Refuse } from '../refusal.js';

const refuse: Refuse = refusal('JSON_INVALID');

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const LETTER_U = 0x75;

/**
 * Parses strict JSON: RFC 8259 without a BOM, ill-formed UTF-8, lone surrogates, duplicate keys (however spelled) and
 * depth over 64. Objects are those of `JSON.parse`: an own `__proto__` key stays an own key.
 * @throws ValiseError JSON_INVALID with the rule and, except for a duplicate key, the byte offset
 */
export function parseJson(text: Uint8Array | string): unknown {
  const parsed = parse(text);
  if (parsed) return parsed.value;
  // Only a refusal is worth the slow look: the cursor tells rule and offset without quoting the text.
  const cursor = new JsonCursor(typeof text === 'string' ? Buffer.from(text, 'utf8') : text, refuse);
  cursor.skip();
  cursor.end();
  return refuse({
    rule: typeof text === 'string' && !text.isWellFormed() ? 'lone_surrogate' : 'duplicate_key',
  });
}

function parse(input: Uint8Array | string): { value: unknown } | null {
  try {
    const text = typeof input === 'string' ? input : decoder.decode(input);
    const value: unknown = JSON.parse(text);
    const { keys, hasUnicodeEscapes } = scan(text);
    // Well-formed text can still spell a lone surrogate as an escape.
    const judge = new ValueJudge(hasUnicodeEscapes || (typeof input === 'string' && !input.isWellFormed()));
    // JSON.parse keeps the last of equal keys, so a duplicate is a key of the text that the value lacks.
    return judge.accepts(value, 0) && judge.keys === keys ? { value } : null;
  } catch {
    // The message of a foreign error quotes the text.
    return null;
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

class ValueJudge {
  keys = 0;

  constructor(private readonly mayHaveLoneSurrogates: boolean) {}

  /** Whether the value nests no deeper than the limit and holds well-formed text alone; counts its keys. */
  accepts(value: unknown, depth: number): boolean {
    if (typeof value === 'string') return !this.mayHaveLoneSurrogates || value.isWellFormed();
    if (typeof value !== 'object' || value === null) return true;
    if (depth === MAX_JSON_DEPTH) return false;
    if (Array.isArray(value)) {
      for (const item of value) if (!this.accepts(item, depth + 1)) return false;
      return true;
    }
    for (const key of Object.keys(value)) {
      this.keys++;
      if (this.mayHaveLoneSurrogates && !key.isWellFormed()) return false;
      if (!this.accepts((value as Record<string, unknown>)[key], depth + 1)) return false;
    }
    return true;
  }
}

/** Of a text that is JSON: how many keys it has (its colons outside strings), and whether `\u` stands in a string. */
function scan(text: string): { keys: number; hasUnicodeEscapes: boolean } {
  let keys = 0;
  let hasUnicodeEscapes = false;
  let escape = indexOrEnd(text, '\\', 0);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COLON) keys++;
    else if (code === QUOTE) {
      at = text.indexOf('"', at + 1);
      // Strings without an escape, which are most, end at their first quote.
      if (escape > at) continue;
      at = escape;
      for (let next = BACKSLASH; next !== QUOTE; next = text.charCodeAt(++at)) {
        if (next === BACKSLASH && text.charCodeAt(++at) === LETTER_U) hasUnicodeEscapes = true;
      }
      escape = indexOrEnd(text, '\\', at);
    }
  }
  return { keys, hasUnicodeEscapes };
}

function indexOrEnd(text: string, character: string, from: number): number {
  const at = text.indexOf(character, from);
  return at < 0 ? text.length : at;
}
