import { sha256Hex } from '@valise/contracts/documents';

type Encoded = Readonly<Record<string, unknown>>;

/**
 * Decodes a vector's one-key encodings (wire.md §9). Plain members are defined, not assigned, so that an own
 * `__proto__` key stays a key.
 */
export function decode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decode);
  if (typeof value !== 'object' || value === null) return value;
  const keys = Object.keys(value);
  const decoder = keys.length === 1 ? DECODERS[keys[0] ?? ''] : undefined;
  if (decoder) return decoder((value as Encoded)[keys[0] ?? '']);
  const record = {};
  for (const key of keys) define(record, key, decode((value as Encoded)[key]));
  return record;
}

/** A comparable form: members sorted by name, absent ones dropped, large texts and values as their digests. */
export function matches(actual: unknown, expected: unknown): boolean {
  if (isEncoded(expected, '$stringSha256')) return isDigestOf(actual, expected, '$string', actual);
  if (isEncoded(expected, '$jsonSha256'))
    return isDigestOf(JSON.stringify(actual), expected, '$json', actual);
  return canonical(actual) === canonical(decode(expected));
}

/** What a failure prints: codes and digests, large values cut. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) return 'undefined';
  return text.length <= 160 ? text : `${text.slice(0, 160)}… (${text.length} characters, ${sha256Hex(text)})`;
}

const DECODERS: Readonly<Record<string, ((value: unknown) => unknown) | undefined>> = {
  $repeat: (value) => {
    const [text, count] = value as [string, number];
    return text.repeat(count);
  },
  $concat: (value) => (value as unknown[]).map((part) => decode(part) as string).join(''),
  $json: (value) => JSON.stringify(decode(value)),
  $bytesHex: (value) => Buffer.from(value as string, 'hex'),
  $bytesRepeat: (value) => {
    const [hex, count] = value as [string, number];
    return Buffer.from(hex.repeat(count), 'hex');
  },
  $bytesConcat: (value) =>
    Buffer.concat(
      (value as unknown[]).map((part) => {
        const decoded = decode(part);
        return typeof decoded === 'string' ? Buffer.from(decoded, 'utf8') : (decoded as Buffer);
      }),
    ),
  $range: (value) => {
    const [start, count, template] = value as [number, number, unknown];
    return Array.from({ length: count }, (_, index) => numbered(decode(template), start + index));
  },
  $arrays: (value) => (value as unknown[]).flatMap((part) => decode(part) as unknown[]),
  $undefined: () => undefined,
  $number: (value) => Number(value),
};

/** `%i%` is the index, `%i4%` the index padded to four digits. */
function numbered(value: unknown, index: number): unknown {
  if (typeof value === 'string') {
    return value.replaceAll('%i%', String(index)).replaceAll('%i4%', String(index).padStart(4, '0'));
  }
  if (Array.isArray(value)) return value.map((item) => numbered(item, index));
  if (typeof value !== 'object' || value === null) return value;
  const record = {};
  for (const [key, member] of Object.entries(value)) {
    define(record, numbered(key, index) as string, numbered(member, index));
  }
  return record;
}

const define = (record: object, key: string, value: unknown): unknown =>
  Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });

function isEncoded(value: unknown, key: string): value is Encoded {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key);
}

function isDigestOf(text: unknown, expected: Encoded, prefix: string, actual: unknown): boolean {
  return (
    actual !== undefined &&
    typeof text === 'string' &&
    sha256Hex(text) === expected[`${prefix}Sha256`] &&
    Buffer.byteLength(text, 'utf8') === expected[`${prefix}Bytes`]
  );
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    const record = {};
    for (const key of Object.keys(member).sort()) define(record, key, (member as Encoded)[key]);
    return record;
  });
}
