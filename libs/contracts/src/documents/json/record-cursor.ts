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
  let seen = 0;
  cursor.object(() => {
    const index = readKey(cursor, arena, keys);
    const key = keys[index];
    if (key === undefined) cursor.fail('unknown_key');
    if (seen & (1 << index)) cursor.fail('duplicate_key');
    seen |= 1 << index;
    cursor.colon();
    member(key);
  });
  if (seen !== (1 << keys.length) - 1) cursor.fail('missing_key');
}

/** The index of the key that comes next, or -1 when it is none of them. */
function readKey(cursor: JsonCursor, arena: Arena, keys: readonly string[]): number {
  const mark = arena.length;
  const range = arena.append((into, at) => cursor.text(into, at));
  let index = keys.length - 1;
  while (index >= 0 && !arena.equals(range, keys[index] ?? '')) index--;
  arena.rewind(mark);
  return index;
}
