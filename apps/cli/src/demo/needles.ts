/** A name or a value that must be found nowhere. */
export interface Needle {
  /** What a person is told: which one it is. Never the value itself. */
  readonly label: string;
  readonly kind: 'name' | 'value';
  readonly bytes: Buffer;
}

export type Form = 'raw' | 'json' | 'utf16' | 'base64' | 'hex';

/** One spelling of a needle, or of one of its lines, as it would lie in a file. */
export interface Pattern {
  readonly needle: Needle;
  readonly form: Form;
  /** The whole needle, or one line of it. */
  readonly part: 'whole' | 'line';
  readonly bytes: Buffer;
}

/** Shorter text turns up everywhere by chance, so that finding it says nothing. */
export const SHORTEST_NEEDLE_BYTES = 6;

export function isSearchable(needle: Needle): boolean {
  return needle.bytes.length >= SHORTEST_NEEDLE_BYTES;
}

/**
 * Every spelling of every searchable needle: as it is, inside a JSON string, in UTF-16 (both byte orders), in base64 (at each of the three alignments
 * it can have in longer data, both alphabets) and in hex; the whole and each line. A spelling that several needles have
 * is listed for the first of them only.
 */
export function patternsOf(needles: readonly Needle[]): Pattern[] {
  const patterns = new Map<string, Pattern>();
  for (const needle of needles.filter(isSearchable)) {
    for (const [part, bytes] of partsOf(needle.bytes)) {
      for (const [form, spelling] of spellings(bytes)) {
        const key = spelling.toString('latin1');
        if (!patterns.has(key)) patterns.set(key, { needle, form, part, bytes: spelling });
      }
    }
  }
  return [...patterns.values()];
}

function* partsOf(bytes: Buffer): Iterable<[Pattern['part'], Buffer]> {
  yield ['whole', bytes];
  // latin1 keeps every byte as one character, so that splitting cannot damage UTF-8.
  const lines = bytes.toString('latin1').split(/\r\n|\r|\n/);
  if (lines.length === 1) return;
  for (const line of lines) {
    const piece = Buffer.from(line, 'latin1');
    if (piece.length >= SHORTEST_NEEDLE_BYTES) yield ['line', piece];
  }
}

function* spellings(bytes: Buffer): Iterable<[Form, Buffer]> {
  yield ['raw', bytes];
  yield ['json', Buffer.from(JSON.stringify(bytes.toString('utf8')).slice(1, -1), 'utf8')];
  const utf16 = Buffer.from(bytes.toString('utf8'), 'utf16le');
  yield ['utf16', utf16];
  yield ['utf16', Buffer.from(utf16).swap16()];
  for (const before of [0, 1, 2]) {
    const text = base64Within(bytes, before);
    yield ['base64', Buffer.from(text)];
    yield ['base64', Buffer.from(text.replaceAll('+', '-').replaceAll('/', '_'))];
  }
  const hex = bytes.toString('hex');
  yield ['hex', Buffer.from(hex)];
  yield ['hex', Buffer.from(hex.toUpperCase())];
}

/** The characters of base64 that depend on `bytes` alone when `before` (modulo 3) other bytes precede it. */
function base64Within(bytes: Buffer, before: number): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
  return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
}
