/**
 * Length in bytes of the well-formed UTF-8 sequence that starts at `at` (Unicode 15, table 3-7), or 0 when there is
 * none: overlong forms, surrogates, code points past U+10FFFF and cut sequences are not well-formed.
 */
export function sequenceLength(bytes: Uint8Array, at: number): 0 | 1 | 2 | 3 | 4 {
  const lead = byteAt(bytes, at);
  if (lead < 0) return 0;
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const second = byteAt(bytes, at + 1);
  if (!isContinuation(second)) return 0;
  if (lead < 0xe0) return 2;
  if ((lead === 0xe0 && second < 0xa0) || (lead === 0xed && second > 0x9f)) return 0;
  if (!isContinuation(byteAt(bytes, at + 2))) return 0;
  if (lead < 0xf0) return 3;
  if ((lead === 0xf0 && second < 0x90) || (lead === 0xf4 && second > 0x8f)) return 0;
  return isContinuation(byteAt(bytes, at + 3)) ? 4 : 0;
}

/** Writes the UTF-8 form of a code point that is no surrogate; returns the offset after it. */
export function writeCodePoint(into: Uint8Array, at: number, point: number): number {
  let end = at;
  if (point < 0x80) {
    into[end++] = point;
  } else if (point < 0x800) {
    into[end++] = 0xc0 | (point >> 6);
    into[end++] = 0x80 | (point & 0x3f);
  } else if (point < 0x10000) {
    into[end++] = 0xe0 | (point >> 12);
    into[end++] = 0x80 | ((point >> 6) & 0x3f);
    into[end++] = 0x80 | (point & 0x3f);
  } else {
    into[end++] = 0xf0 | (point >> 18);
    into[end++] = 0x80 | ((point >> 12) & 0x3f);
    into[end++] = 0x80 | ((point >> 6) & 0x3f);
    into[end++] = 0x80 | (point & 0x3f);
  }
  return end;
}

/** The text of well-formed bytes, decoded in place: no second copy of the bytes is made. */
export const decodeUtf8 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');

export const utf8Bytes = (text: string): number => Buffer.byteLength(text, 'utf8');

/** The byte, or -1 past the end: NaN-free arithmetic for the checks above. */
const byteAt = (bytes: Uint8Array, at: number): number => bytes[at] ?? -1;

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80 && byte >= 0;
