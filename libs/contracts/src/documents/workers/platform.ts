import { parse, validRange } from 'semver';
import { compareCodeUnits, compareFixed } from '../text/order.js';
import { readList, readPlain, readRecord, type Plain } from '../json/plain-data.js';
import type { Refuse } from '../refusal.js';
import { oneOf, text } from '../text/text.js';

/** Words that a placement and the capabilities of a worker share (wire.md §3). */
export const ARCHITECTURES = ['amd64', 'arm64', 'ppc64le', 's390x', 'arm/v7', 'arm/v6', '386'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

export const SUPPORT_TIERS = ['tier1', 'candidate', 'experimental', 'legacy-only'] as const;
export type SupportTier = (typeof SUPPORT_TIERS)[number];

/** How well an architecture is supported; a worker may not claim another tier. */
export const TIER_OF: Readonly<Record<Architecture, SupportTier>> = {
  amd64: 'tier1',
  arm64: 'tier1',
  ppc64le: 'candidate',
  s390x: 'candidate',
  'arm/v7': 'experimental',
  'arm/v6': 'legacy-only',
  386: 'legacy-only',
};

export type Labels = Readonly<Record<string, string>>;

const MAX_ITEMS = 16;
const MAX_ITEM_BYTES = 64;
const ITEM = /^[a-z0-9][a-z0-9._+-]*$/;
const LABEL_KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]*$/;
const MAX_LABEL_KEY_BYTES = 128;
const MAX_LABEL_VALUE_BYTES = 256;
const MAX_VERSION_BYTES = 256;

/** A lower-case word of at most 64 bytes. */
export function readItem(value: unknown, field: string, refuse: Refuse): string {
  const item = text(value, 1, MAX_ITEM_BYTES, field, refuse);
  if (!ITEM.test(item)) refuse({ field, rule: 'pattern' });
  return item;
}

/** At most 16 distinct items, sorted. */
export function readItems<T extends string>(
  value: unknown,
  item: (value: unknown, field: string) => T,
  field: string,
  refuse: Refuse,
): T[] {
  const items = readList(value, MAX_ITEMS, field, refuse).map((each, index) =>
    item(each, `${field}[${index}]`),
  );
  if (new Set(items).size !== items.length) refuse({ field, rule: 'unique' });
  return items.sort(compareCodeUnits);
}

export const readArchitecture = (value: unknown, field: string, refuse: Refuse): Architecture =>
  oneOf(value, ARCHITECTURES, field, refuse);

/** At most 16 labels, keys in the fixed order (wire.md §7). */
export function readLabels(value: unknown, field: string, refuse: Refuse): Labels {
  const given = readPlain(value, field, refuse);
  const keys = Object.keys(given).sort(compareFixed);
  if (keys.length > MAX_ITEMS) refuse({ field, rule: 'max_items', limit: MAX_ITEMS, actual: keys.length });
  const labels = Object.create(null) as Record<string, string>;
  for (const key of keys) {
    if (!LABEL_KEY.test(text(key, 1, MAX_LABEL_KEY_BYTES, field, refuse))) refuse({ field, rule: 'pattern' });
    labels[key] = text(given[key], 1, MAX_LABEL_VALUE_BYTES, field, refuse);
  }
  return labels;
}

/** At most 16 runtimes with distinct names, in the fixed order of their names. */
export function readRuntimes<T extends { readonly name: string }>(
  value: unknown,
  keys: { readonly required: readonly string[]; readonly optional: readonly string[] },
  runtime: (name: string, record: Plain, field: string) => T,
  refuse: Refuse,
): T[] {
  const field = 'runtimes';
  const runtimes = readList(value, MAX_ITEMS, field, refuse).map((each, index) => {
    const at = `${field}[${index}]`;
    const record = readRecord(each, keys.required, keys.optional, at, refuse);
    return runtime(readItem(record.name, `${at}.name`, refuse), record, at);
  });
  if (new Set(runtimes.map(({ name }) => name)).size !== runtimes.length) refuse({ field, rule: 'unique' });
  return runtimes.sort((a, b) => compareFixed(a.name, b.name));
}

/** An npm semantic version in its one spelling: no leading `v` or `=`, no spaces. */
export function readVersion(value: unknown, field: string, refuse: Refuse): string {
  const version = text(value, 1, MAX_VERSION_BYTES, field, refuse);
  const parsed = parse(version);
  const build = parsed?.build.length ? `+${parsed.build.join('.')}` : '';
  if (parsed === null || parsed.version + build !== version) refuse({ field, rule: 'version' });
  return version;
}

/** An npm version range, kept as it is written. */
export function readVersionRange(value: unknown, field: string, refuse: Refuse): string {
  const range = text(value, 1, MAX_VERSION_BYTES, field, refuse);
  if (validRange(range) === null) refuse({ field, rule: 'version_range' });
  return range;
}
