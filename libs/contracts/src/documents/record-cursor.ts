import type { Arena } from './arena.js';
import type { JsonCursor } from './json-cursor.js';

/**
 * Consumes an object that has exactly the given keys, each once, in any order; `member` consumes the value. Keys are
 * compared as bytes, so that a secret in the place of a key becomes no string either.
 */
export function readMembers<K extends string>(
  cursor: JsonCursor,
  arena: Arena,
  keys: readonly K[],
  member: (key: K) => void,
): void {
  const missing = new Set(keys);
  cursor.object(() => {
    const mark = arena.length;
    const range = arena.append((into, at) => cursor.text(into, at));
    const key = keys.find((candidate) => arena.equals(range, candidate));
    if (key === undefined) cursor.fail('unknown_key');
    if (!missing.delete(key)) cursor.fail('duplicate_key');
    arena.rewind(mark);
    cursor.colon();
    member(key);
  });
  if (missing.size > 0) cursor.fail('missing_key');
}
