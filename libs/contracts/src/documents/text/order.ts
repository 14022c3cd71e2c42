const PUNCTUATION = '_-./+';

/**
 * The fixed order of bindings, labels and runtime names (wire.md §7): `_ - . / +`, then digits, then letters whatever
 * their case; a prefix before what it begins; on a full tie, lower case first where the texts first differ. It equals
 * ICU `en-US` for these characters and never depends on the locale of the host.
 */
export function compareFixed(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const difference = rank(a.charCodeAt(index)) - rank(b.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  if (a.length !== b.length) return a.length - b.length;
  for (let index = 0; index < length; index++) {
    // Lower-case letters have the larger code.
    const difference = b.charCodeAt(index) - a.charCodeAt(index);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The order of bundle names and JSON keys: UTF-16 code units. */
export function compareCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Any other character comes last, by its code: the documents refuse it before it is compared. */
function rank(code: number): number {
  const punctuation = PUNCTUATION.indexOf(String.fromCharCode(code));
  if (punctuation >= 0) return punctuation;
  if (code >= 0x30 && code <= 0x39) return 0x10 + (code - 0x30);
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x7a ? 0x20 + (letter - 0x61) : 0x100 + code;
}
