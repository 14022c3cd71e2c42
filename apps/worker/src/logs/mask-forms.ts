import { offHeap } from '@valise/process';
import type { Pattern } from './mask-automaton.js';

const text = (ascii: string): Buffer => Buffer.from(ascii, 'latin1');
const BASE64 = text('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
const PADDING = text('==');
const HEX = text('0123456789abcdef');

/** What stands for each byte; null where it stands for itself. */
type Escapes = readonly (Buffer | null)[];

const escapes = (escapeOf: (byte: number) => string | null): Escapes =>
  Array.from({ length: 256 }, (_none, byte) => {
    const escape = escapeOf(byte);
    return escape === null ? null : text(escape);
  });

const textOf = (escape: Buffer | null | undefined): string | null => escape?.toString('latin1') ?? null;
const hexOf = (byte: number): string => byte.toString(16).padStart(2, '0');
const isOneOf = (characters: string, byte: number): boolean => characters.includes(String.fromCharCode(byte));
const isAlphanumeric = (byte: number): boolean => /[0-9A-Za-z]/.test(String.fromCharCode(byte));

const JSON_NAMES: Readonly<Record<number, string>> = {
  0x08: '\\b',
  0x09: '\\t',
  0x0a: '\\n',
  0x0c: '\\f',
  0x0d: '\\r',
  0x22: '\\"',
  0x5c: '\\\\',
};
/** As JSON writes a string; some writers escape more than they must. */
const json = (more: string): Escapes =>
  escapes((byte) => {
    if (byte === 0x2f && more.includes('/')) return '\\/';
    const escaped = byte < 0x20 || isOneOf(more, byte);
    return JSON_NAMES[byte] ?? (escaped ? `\\u00${hexOf(byte)}` : null);
  });

/** As in a URL: everything but letters, digits and `kept` is encoded; `space` may stand for a space. */
const percentEncoded = (kept: string, space?: string): Escapes =>
  escapes((byte) => {
    if (byte === 0x20 && space !== undefined) return space;
    return isAlphanumeric(byte) || isOneOf(kept, byte) ? null : `%${hexOf(byte)}`;
  });

const ANSI_C_NAMES: Readonly<Record<number, string>> = {
  0x07: '\\a',
  0x08: '\\b',
  0x09: '\\t',
  0x0a: '\\n',
  0x0b: '\\v',
  0x0c: '\\f',
  0x0d: '\\r',
  0x1b: '\\E',
  0x27: "\\'",
  0x5c: '\\\\',
};
/** As a shell writes `$'…'`; in a locale of bytes, those above ASCII too. */
const ansiC = (inLocaleOfBytes: boolean): Escapes =>
  escapes((byte) => {
    const isOctal = byte < 0x20 || byte === 0x7f || (inLocaleOfBytes && byte > 0x7f);
    return ANSI_C_NAMES[byte] ?? (isOctal ? `\\${byte.toString(8).padStart(3, '0')}` : null);
  });
const backslashed = (characters: string): Escapes =>
  escapes((byte) => (isOneOf(characters, byte) ? `\\${String.fromCharCode(byte)}` : null));
const singleQuoted = (quote: string): Escapes => escapes((byte) => (byte === 0x27 ? quote : null));

const JSON_FORMS = [json(''), json('/'), json('<>&')];
/** .NET's: a quotation mark has no name. */
const DOTNET_JSON = escapes((byte) => (byte === 0x22 ? '\\u0022' : textOf(json("<>&'+`")[byte])));
/** As in XML and HTML; writers agree on the first three. */
const markup = (quote: string | null, apostrophe: string | null): Escapes =>
  escapes((byte) => {
    const entities: Readonly<Record<number, string | null>> = {
      0x26: '&amp;',
      0x3c: '&lt;',
      0x3e: '&gt;',
      0x22: quote,
      0x27: apostrophe,
    };
    return entities[byte] ?? null;
  });
const MARKUP_FORMS = [
  markup(null, null),
  markup('&quot;', null),
  markup('&quot;', '&apos;'),
  markup('&quot;', '&#39;'),
  markup('&quot;', '&#x27;'),
  markup('&#34;', '&#39;'),
];
const PERCENT_FORMS = [
  percentEncoded("-_.!~*'()"),
  percentEncoded('-_.~'),
  percentEncoded('-_.~/'),
  percentEncoded('-_.~', '+'),
  percentEncoded('*-._', '+'),
];
const SHELL_FORMS = [
  singleQuoted(`'\\''`),
  singleQuoted(`'"'"'`),
  backslashed('\\"$`'),
  backslashed(' \t\'"\\|&;()<>!{}*[]?^$`,'),
  ansiC(false),
  ansiC(true),
];
/** Writers that know no letters but ASCII: `\uXXXX` for all others. */
const ASCII_JSON_FORMS = [json(''), json('/'), DOTNET_JSON];

/** As the bytes are, and as they are in a shell's words and in markup. A form may be there twice, and be the bytes themselves. */
export function* writtenForms(bytes: Uint8Array): Generator<Uint8Array> {
  yield bytes;
  for (const form of [...SHELL_FORMS, ...MARKUP_FORMS]) yield escaped(bytes, form);
}

/** In hexadecimal, and escaped with hexadecimal digits: these in lower case, for they may be in either. */
export function* digitForms(bytes: Uint8Array): Generator<Uint8Array> {
  const hexadecimal = offHeap(bytes.length * 2);
  bytes.forEach((byte, at) => {
    hexadecimal[2 * at] = HEX[byte >> 4] ?? 0;
    hexadecimal[2 * at + 1] = HEX[byte & 15] ?? 0;
  });
  yield hexadecimal;
  const others = function* (): Generator<Uint8Array> {
    for (const form of [...JSON_FORMS, ...PERCENT_FORMS]) yield escaped(bytes, form);
    for (const form of ASCII_JSON_FORMS) yield escapedAsUtf16(bytes, form);
  };
  for (const form of others()) if (form !== bytes) yield form;
}

/**
 * What certainly stands in the base64 form of any text that has the bytes in it, at each of the three ways they can meet
 * its groups. Where the last byte ends within a character, each character that it can end in is an ending.
 */
export function base64Forms(bytes: Uint8Array): Pattern[] {
  return [0, 1, 2].map((before) => {
    const bits = 8 * (before + bytes.length);
    const first = Math.ceil((8 * before) / 6);
    const whole = Math.floor(bits / 6);
    const form = offHeap(whole - first);
    for (let at = first; at < whole; at += 1) form[at - first] = BASE64[sextet(bytes, before, at)] ?? 0;
    // The character before it has bits of the first byte.
    return {
      bytes: form,
      withByteBefore: before > 0,
      endings: endingsOf(bits, sextet(bytes, before, whole)),
    };
  });
}

/** The characters that may stand for the last bits, and the one that does at the end of the text, padded. */
function endingsOf(bits: number, last: number): Buffer[] {
  const loose = (6 - (bits % 6)) % 6;
  if (loose === 0) return [];
  const endings = Array.from({ length: 2 ** loose }, (_none, ending) =>
    Buffer.of(BASE64[last | ending] ?? 0),
  );
  return [...endings, Buffer.of(BASE64[last] ?? 0, ...PADDING.subarray(0, loose / 2))];
}

/** Six bits of the bytes that `before` bytes stand before, with zeros for those around them. */
function sextet(bytes: Uint8Array, before: number, at: number): number {
  const bit = 6 * at - 8 * before;
  const byte = Math.floor(bit / 8);
  const pair = ((bytes[byte] ?? 0) << 8) | (bytes[byte + 1] ?? 0);
  return (pair >> (10 - (bit - 8 * byte))) & 63;
}

/** Each of them once, in an order of its own; the others stay to be wiped. */
export function distinct(parts: readonly Uint8Array[]): Uint8Array[] {
  const inOrder = [...parts].sort((one, other) => Buffer.compare(one, other));
  return inOrder.filter((part, at) => at === 0 || Buffer.compare(part, inOrder[at - 1] ?? part) !== 0);
}

function escaped(bytes: Uint8Array, form: Escapes): Uint8Array {
  const length = bytes.reduce((sum, byte) => sum + (form[byte]?.length ?? 1), 0);
  if (length === bytes.length && !bytes.some((byte) => form[byte])) return bytes;
  const written = offHeap(length);
  let at = 0;
  for (const byte of bytes) {
    const escape = form[byte];
    if (escape) written.set(escape, at);
    else written[at] = byte;
    at += escape?.length ?? 1;
  }
  return written;
}

/** `\uXXXX` for what is above ASCII; bytes that are no UTF-8 stay as they are. */
function escapedAsUtf16(bytes: Uint8Array, form: Escapes): Uint8Array {
  if (!bytes.some((byte) => byte > 0x7f)) return escaped(bytes, form);
  const written = offHeap(bytes.length * 6);
  let length = 0;
  const put = (part: Uint8Array): void => {
    written.set(part, length);
    length += part.length;
  };
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at] ?? 0;
    const size = sizeOfSequence(byte);
    if (size === 1) {
      put(form[byte] ?? bytes.subarray(at, at + 1));
    } else {
      putUtf16(bytes.subarray(at, at + size), put);
    }
    at += size;
  }
  const exact = offHeap(length);
  written.copy(exact, 0, 0, length);
  written.fill(0);
  return exact;
}

function sizeOfSequence(byte: number): number {
  if (byte >= 0xf0) return 4;
  if (byte >= 0xe0) return 3;
  return byte >= 0xc0 ? 2 : 1;
}

function putUtf16(sequence: Uint8Array, put: (part: Uint8Array) => void): void {
  const [lead = 0, ...rest] = sequence;
  const point = rest.reduce(
    (sum, byte) => (sum << 6) | (byte & 0x3f),
    lead & (0xff >> (sequence.length + 1)),
  );
  const units =
    point < 0x10000 ? [point] : [0xd800 + ((point - 0x10000) >> 10), 0xdc00 + ((point - 0x10000) & 0x3ff)];
  for (const unit of units) {
    const escape = text('\\u0000');
    for (let digit = 0; digit < 4; digit += 1) escape[5 - digit] = HEX[(unit >> (4 * digit)) & 15] ?? 0;
    put(escape);
    escape.fill(0);
  }
}
