import { isUtf8 } from 'node:buffer';

/** The letter of the short escape `JSON.stringify` writes for a byte, or 0. */
const SHORT = new Uint8Array(256);
for (const [byte, letter] of [
  [0x22, '"'],
  [0x5c, '\\'],
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0c, 'f'],
  [0x0d, 'r'],
] as const) {
  SHORT[byte] = letter.charCodeAt(0);
}
const HEX = Buffer.from('0123456789abcdef');

/** How many bytes more a byte takes inside a JSON string: one for a letter, five for its number. */
const MORE = new Uint8Array(256).map((_, byte) => (SHORT[byte] ? 1 : byte < 0x20 ? 5 : 0));

/** How many bytes UTF-8 text takes inside a JSON string, as `JSON.stringify` escapes it; -1 when it is no UTF-8. */
export function escapedLength(bytes: Uint8Array): number {
  if (!isUtf8(bytes)) return -1;
  let { length } = bytes;
  // By index, here and below: an iterator takes three times as long.
  let at = 0;
  while (at < bytes.length) length += MORE[bytes[at++] ?? 0] ?? 0;
  return length;
}

/** Writes well-formed UTF-8 text as `JSON.stringify` would, without quotes; returns the offset after it. */
export function writeEscaped(bytes: Uint8Array, into: Uint8Array, at: number): number {
  let next = 0;
  while (next < bytes.length) {
    const byte = bytes[next++] ?? 0;
    if (MORE[byte] === 0) into[at++] = byte;
    else at = writeEscape(byte, into, at);
  }
  return at;
}

function writeEscape(byte: number, into: Uint8Array, at: number): number {
  into[at] = 0x5c;
  if (MORE[byte] === 1) {
    into[at + 1] = SHORT[byte] ?? 0;
    return at + 2;
  }
  into[at + 1] = 0x75;
  into[at + 2] = 0x30;
  into[at + 3] = 0x30;
  into[at + 4] = HEX[byte >> 4] ?? 0;
  into[at + 5] = HEX[byte & 0xf] ?? 0;
  return at + 6;
}
