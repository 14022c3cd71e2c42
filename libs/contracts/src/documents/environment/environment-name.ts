const SHAPE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** Names of this prefix are the operator's: they tell a task which run it is. */
export const RESERVED_PREFIX = 'QL3_';

/** The rule that a variable's name breaks, or null (wire.md §2). */
export function environmentNameBreach(name: string): 'pattern' | 'reserved' | null {
  if (!SHAPE.test(name)) return 'pattern';
  return name.startsWith(RESERVED_PREFIX) ? 'reserved' : null;
}
