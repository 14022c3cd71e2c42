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

/** How many bytes an ASCII byte takes inside a JSON string. */
const LENGTH = new Uint8Array(128).map((_, byte) => (SHORT[byte] ? 2 : byte < 0x20 ? 6 : 1));
/** From here on one copy of a run is cheaper than a byte at a time. */
const RUN_BYTES = 32;

/** How many bytes UTF-8 text takes inside a JSON string, as `JSON.stringify` escapes it; -1 when it is no UTF-8. */
export function escapedLength(bytes: Uint8Array): number {
  let { length } = bytes;
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) {
      length += (LENGTH[byte] ?? 1) - 1;
      at += 1;
      continue;
    }
    const size = sequenceLength(bytes, at);
    if (size === 0) return -1;
    at += size;
  }
  return length;
}

/** Writes well-formed UTF-8 text as `JSON.stringify` would, without quotes; returns the offset after it. */
export function writeEscaped(bytes: Uint8Array, into: Uint8Array, at: number): number {
  let from = 0;
  for (let next = 0; next < bytes.length; next += 1) {
    const byte = bytes[next] ?? 0;
    const size = byte < 0x80 ? LENGTH[byte] : 1;
    if (size === 1) continue;
    at = copyRun(bytes, from, next, into, at);
    from = next + 1;
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
  return copyRun(bytes, from, bytes.length, into, at);
}

function copyRun(bytes: Uint8Array, from: number, to: number, into: Uint8Array, at: number): number {
  if (to - from >= RUN_BYTES) into.set(bytes.subarray(from, to), at);
  else for (let next = from; next < to; next += 1) into[at + next - from] = bytes[next] ?? 0;
  return at + to - from;
}
