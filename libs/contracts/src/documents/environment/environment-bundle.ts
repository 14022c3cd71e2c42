import { Arena, type Range } from '../json/arena.js';
import { environmentNameBreach } from './environment-name.js';
import { JsonCursor } from '../json/json-cursor.js';
import { compareCodeUnits } from '../text/order.js';
import { readList, readRecord } from '../json/plain-data.js';
import { readMembers } from '../json/record-cursor.js';
import { refusal, type Refuse } from '../refusal.js';
import { decodeUtf8 } from '../text/utf8.js';

export const ENVIRONMENT_BUNDLE_SCHEMA = 'qinglong/environment-bundle@v1';

/** In UTF-8 bytes, and in entries (wire.md §2). */
export const ENVIRONMENT_BUNDLE_LIMITS = {
  carrierBytes: 96 * 1024,
  entries: 256,
  nameBytes: 128,
  valueBytes: 16 * 1024,
  totalBytes: 64 * 1024,
} as const;

const refuse: Refuse = refusal('ENVIRONMENT_BUNDLE_INVALID');

export interface EnvironmentEntry {
  readonly name: string;
  readonly value: string;
}

export interface EnvironmentBundle {
  readonly schema: typeof ENVIRONMENT_BUNDLE_SCHEMA;
  readonly entries: readonly EnvironmentEntry[];
}

/** An opened bundle: names as text, values as views into one piece of memory that `wipe` zeroes. */
export interface OpenBundle {
  readonly entries: { readonly name: string; readonly value: Uint8Array }[];
  wipe(): void;
}

/**
 * Opens a carrier. The entries come in canonical order, each value byte for byte as it was packed; no JavaScript string
 * is made of a value. The carrier itself stays the caller's to zero.
 * @throws ValiseError ENVIRONMENT_BUNDLE_INVALID with the rule, and the field or the offset; a limit with its count
 */
export function readEnvironmentBundle(carrier: Uint8Array): OpenBundle {
  const { carrierBytes } = ENVIRONMENT_BUNDLE_LIMITS;
  if (carrier.length > carrierBytes) {
    refuse({ field: 'carrier', rule: 'max_bytes', limit: carrierBytes, actual: carrier.length });
  }
  const arena = new Arena(carrier.length);
  try {
    const entries = readEntries(new JsonCursor(carrier, refuse), arena);
    return {
      entries: entries.map(({ name, value }) => ({ name, value: arena.view(value) })),
      wipe: () => {
        arena.wipe();
      },
    };
  } catch (error) {
    arena.wipe();
    throw error;
  }
}

/**
 * The text view of a bundle, for packing and tests: its values become strings.
 * @throws ValiseError ENVIRONMENT_BUNDLE_INVALID
 */
export function parseEnvironmentBundle(carrier: unknown): EnvironmentBundle {
  const bundle = readEnvironmentBundle(carrierBytes(carrier));
  const entries = bundle.entries.map(({ name, value }) => ({ name, value: decodeUtf8(value) }));
  bundle.wipe();
  return { schema: ENVIRONMENT_BUNDLE_SCHEMA, entries };
}

/**
 * The canonical carrier of the entries, in whatever order they are given.
 * @throws ValiseError ENVIRONMENT_BUNDLE_INVALID; an index in a field's path is that of the given order
 */
export function writeEnvironmentBundle(entries: readonly EnvironmentEntry[]): string {
  const given = readList(entries, ENVIRONMENT_BUNDLE_LIMITS.entries, 'entries', refuse).map(textEntry);
  // The reader owns every rule: what it opens is a bundle.
  readEnvironmentBundle(Buffer.from(serialize(given), 'utf8')).wipe();
  return serialize(given.toSorted((a, b) => compareCodeUnits(a.name, b.name)));
}

/**
 * The canonical carrier of a bundle given as an object of exactly `schema` and `entries`.
 * @throws ValiseError ENVIRONMENT_BUNDLE_INVALID
 */
export function serializeEnvironmentBundle(bundle: EnvironmentBundle): string {
  const { schema, entries } = readRecord(bundle, ['schema', 'entries'], [], 'bundle', refuse);
  if (schema !== ENVIRONMENT_BUNDLE_SCHEMA) refuse({ field: 'schema', rule: 'one_of' });
  return writeEnvironmentBundle(entries as readonly EnvironmentEntry[]);
}

interface EntryRange {
  readonly name: string;
  readonly value: Range;
}

function readEntries(cursor: JsonCursor, arena: Arena): EntryRange[] {
  const entries: EntryRange[] = [];
  readMembers(cursor, arena, ['schema', 'entries'], (key) => {
    if (key === 'entries') {
      readEntryList(cursor, arena, entries);
      return;
    }
    const mark = arena.length;
    const schema = arena.append((into, at) => cursor.text(into, at));
    if (!arena.equals(schema, ENVIRONMENT_BUNDLE_SCHEMA)) refuse({ field: 'schema', rule: 'one_of' });
    arena.rewind(mark);
  });
  cursor.end();
  return entries.sort((a, b) => compareCodeUnits(a.name, b.name));
}

function readEntryList(cursor: JsonCursor, arena: Arena, entries: EntryRange[]): void {
  const { entries: maxEntries, totalBytes } = ENVIRONMENT_BUNDLE_LIMITS;
  const names = new Set<string>();
  let total = 0;
  const count = cursor.list((index) => {
    if (index >= maxEntries) {
      // Counted to the end: a refusal says by how much.
      cursor.skip();
      return;
    }
    const entry = readEntry(cursor, arena, index);
    if (names.has(entry.name)) refuse({ field: `entries[${index}].name`, rule: 'duplicate_name' });
    names.add(entry.name);
    total += entry.name.length + (entry.value.end - entry.value.start);
    entries.push(entry);
  });
  const field = 'entries';
  if (count === 0) refuse({ field, rule: 'min_items', limit: 1, actual: 0 });
  if (count > maxEntries) refuse({ field, rule: 'max_items', limit: maxEntries, actual: count });
  if (total > totalBytes) refuse({ field, rule: 'total_bytes', limit: totalBytes, actual: total });
}

function readEntry(cursor: JsonCursor, arena: Arena, index: number): EntryRange {
  const { nameBytes, valueBytes } = ENVIRONMENT_BUNDLE_LIMITS;
  const empty: Range = { start: 0, end: 0 };
  const ranges = { name: empty, value: empty };
  readMembers(cursor, arena, ['name', 'value'], (key) => {
    ranges[key] = arena.append((into, at) => cursor.text(into, at));
  });
  const field = `entries[${index}].value`;
  assertBytes(ranges.value, valueBytes, field);
  if (arena.view(ranges.value).includes(0)) refuse({ field, rule: 'nul' });
  assertBytes(ranges.name, nameBytes, `entries[${index}].name`);
  const name = arena.latin1(ranges.name);
  const breach = environmentNameBreach(name);
  if (breach) refuse({ field: `entries[${index}].name`, rule: `name_${breach}` });
  return { name, value: ranges.value };
}

function assertBytes({ start, end }: Range, limit: number, field: string): void {
  if (end - start > limit) refuse({ field, rule: 'max_bytes', limit, actual: end - start });
}

function textEntry(entry: unknown, index: number): EnvironmentEntry {
  const field = `entries[${index}]`;
  const { name, value } = readRecord(entry, ['name', 'value'], [], field, refuse);
  if (typeof name !== 'string' || typeof value !== 'string') refuse({ field, rule: 'string' });
  if (!name.isWellFormed() || !value.isWellFormed()) refuse({ field, rule: 'well_formed' });
  return { name, value };
}

const serialize = (entries: readonly EnvironmentEntry[]): string =>
  JSON.stringify({ schema: ENVIRONMENT_BUNDLE_SCHEMA, entries });

function carrierBytes(carrier: unknown): Uint8Array {
  if (carrier instanceof Uint8Array) return carrier;
  if (typeof carrier !== 'string') refuse({ field: 'carrier', rule: 'string' });
  if (!carrier.isWellFormed()) refuse({ field: 'carrier', rule: 'lone_surrogate' });
  return Buffer.from(carrier, 'utf8');
}
