import { sequenceLength } from '../text/utf8.js';

/** The letter of the short escape `JSON.stringify` writes for a byte, or 0. */
const SHORT = new Uint8Array(128);
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

/** How many bytes UTF-8 text takes inside a JSON string, as `JSON.stringify` escapes it; -1 when it is no UTF-8. */
export function escapedLength(bytes: Uint8Array): number {
  let length = 0;
  for (let at = 0; at < bytes.length;) {
    const size = sequenceLength(bytes, at);
    if (size === 0) return -1;
    length += size === 1 ? asciiLength(bytes[at] ?? 0) : size;
    at += size;
  }
  return length;
}

/** Writes well-formed UTF-8 text as `JSON.stringify` would, without quotes; returns the offset after it. */
export function writeEscaped(bytes: Uint8Array, into: Uint8Array, at: number): number {
  for (const byte of bytes) {
    const size = byte < 0x80 ? asciiLength(byte) : 1;
    if (size === 1) {
      into[at++] = byte;
      continue;
    }
    into[at++] = 0x5c;
    if (size === 2) {
      into[at++] = SHORT[byte] ?? 0;
      continue;
    }
    into[at++] = 0x75;
    into[at++] = 0x30;
    into[at++] = 0x30;
    into[at++] = HEX[byte >> 4] ?? 0;
    into[at++] = HEX[byte & 0xf] ?? 0;
  }
  return at;
}

function asciiLength(byte: number): 1 | 2 | 6 {
  if (SHORT[byte]) return 2;
  return byte < 0x20 ? 6 : 1;
}
