import {
  readArchitecture,
  readItem,
  readItems,
  readLabels,
  readRuntimes,
  readVersionRange,
  SUPPORT_TIERS,
  type Architecture,
  type Labels,
  type SupportTier,
} from './platform.js';
import { readList, readRecord, type Plain } from '../json/plain-data.js';
import { refusal, type Refuse } from '../refusal.js';
import { integer, oneOf } from '../text/text.js';

export const REMOTE_WORKER = 'remote-worker';

export interface RequiredRuntime {
  readonly name: string;
  readonly versionRange?: string;
}

/** What a worker must have, in the key order of the document; an absent or empty member asks for nothing. */
export interface RequiredPlatform {
  readonly architectures?: readonly Architecture[];
  readonly operatingSystems?: readonly string[];
  readonly executors?: readonly string[];
  readonly protocolVersionRange?: string;
  readonly runtimes?: readonly RequiredRuntime[];
  readonly supportTiers?: readonly SupportTier[];
  readonly labels?: Labels;
  readonly minMemoryBytes?: number;
  readonly minDiskBytes?: number;
  readonly gpuVendor?: string;
  readonly features?: readonly string[];
}

/** Labels that make a worker better by `weight` (1…100). */
export interface Preference {
  readonly labels: Labels;
  readonly weight: number;
}

export interface Placement {
  readonly required?: RequiredPlatform;
  readonly preferred?: readonly Preference[];
}

const MAX_PREFERENCES = 16;
const MAX_WEIGHT = 100;

const refusePlacement: Refuse = refusal('PLACEMENT_INVALID');

/** How each requirement is read, in the key order of the document. */
const REQUIREMENTS: Readonly<
  Record<keyof RequiredPlatform, (value: unknown, field: string, refuse: Refuse) => unknown>
> = {
  architectures: (value, field, refuse) =>
    readItems(value, (item, at) => readArchitecture(item, at, refuse), field, refuse),
  operatingSystems: readWords,
  executors: readWords,
  protocolVersionRange: readVersionRange,
  runtimes: (value, _field, refuse) =>
    readRuntimes(value, { required: ['name'], optional: ['versionRange'] }, requiredRuntime(refuse), refuse),
  supportTiers: (value, field, refuse) =>
    readItems(value, (item, at) => oneOf(item, SUPPORT_TIERS, at, refuse), field, refuse),
  labels: readLabels,
  minMemoryBytes: readMinimum,
  minDiskBytes: readMinimum,
  gpuVendor: readItem,
  features: readWords,
};

/**
 * The canonical form of a placement (wire.md §3): keys in order, lists sorted; what is absent stays absent.
 * @throws ValiseError PLACEMENT_INVALID, or what `refuse` throws
 */
export function normalizePlacement(placement: unknown, refuse: Refuse = refusePlacement): Placement {
  const { required, preferred } = readRecord(placement, [], ['required', 'preferred'], 'placement', refuse);
  return {
    ...(required !== undefined && { required: readRequired(required, refuse) }),
    ...(preferred !== undefined && { preferred: readPreferred(preferred, refuse) }),
  };
}

/**
 * The placement that a remote worker is judged by: it demands the executor `remote-worker`, and refuses to be one that
 * rules it out.
 * @throws ValiseError PLACEMENT_INVALID, or what `refuse` throws
 */
export function effectivePlacement(placement: unknown, refuse: Refuse = refusePlacement): Placement {
  const { required = {}, ...rest } = normalizePlacement(placement, refuse);
  if (required.executors && !required.executors.includes(REMOTE_WORKER)) {
    refuse({ field: 'placement.required.executors', rule: 'remote_worker' });
  }
  return { required: inKeyOrder({ executors: [REMOTE_WORKER], ...required }), ...rest };
}

function readRequired(value: unknown, refuse: Refuse): RequiredPlatform {
  const given = readRecord(value, [], Object.keys(REQUIREMENTS), 'placement.required', refuse);
  const read: Record<string, unknown> = {};
  for (const [key, requirement] of Object.entries(REQUIREMENTS)) {
    if (key in given) read[key] = requirement(given[key], `placement.required.${key}`, refuse);
  }
  return read;
}

function readPreferred(value: unknown, refuse: Refuse): Preference[] {
  const field = 'placement.preferred';
  return readList(value, MAX_PREFERENCES, field, refuse).map((each, index) => {
    const at = `${field}[${index}]`;
    const { labels, weight } = readRecord(each, ['labels', 'weight'], [], at, refuse);
    const read = readLabels(labels, `${at}.labels`, refuse);
    if (Object.keys(read).length === 0)
      refuse({ field: `${at}.labels`, rule: 'min_items', limit: 1, actual: 0 });
    return { labels: read, weight: integer(weight, 1, MAX_WEIGHT, `${at}.weight`, refuse) };
  });
}

function inKeyOrder(required: RequiredPlatform): RequiredPlatform {
  return Object.fromEntries(
    Object.keys(REQUIREMENTS).flatMap((key) =>
      key in required ? [[key, required[key as keyof RequiredPlatform]]] : [],
    ),
  );
}

function readWords(value: unknown, field: string, refuse: Refuse): string[] {
  return readItems(value, (item, at) => readItem(item, at, refuse), field, refuse);
}

function readMinimum(value: unknown, field: string, refuse: Refuse): number {
  return integer(value, 1, Number.MAX_SAFE_INTEGER, field, refuse);
}

const requiredRuntime =
  (refuse: Refuse) =>
  (name: string, { versionRange }: Plain, field: string): RequiredRuntime => ({
    name,
    ...(versionRange !== undefined && {
      versionRange: readVersionRange(versionRange, `${field}.versionRange`, refuse),
    }),
  });
