import {
  ENVIRONMENT_BUNDLE_LIMITS,
  ENVIRONMENT_BUNDLE_SCHEMA,
  environmentNameBreach,
  refusedNameClass,
  type RefusedNameClass,
} from '@valise/contracts/documents';

/** An entry with the place a person finds it at: "line 3" of a dotenv file, "entry 3" of a carrier. */
export interface PlacedEntry {
  readonly name: string;
  readonly value: string;
  readonly place: string;
}

/** What is said of one entry, in plain words, with counts; without its value. */
export interface Finding {
  readonly place: string;
  readonly rule: string;
}

export interface BundleReport {
  readonly entries: number;
  /** Names and values, in UTF-8 bytes. */
  readonly totalBytes: number;
  /** The JSON text, escaping included, in UTF-8 bytes. */
  readonly carrierBytes: number;
  /** How many of these only the escaping makes: a line feed is one byte of the environment and two of JSON. */
  readonly escapingBytes: number;
  /** The longest `NAME=value` with its final NUL, in bytes: what execve counts as one string. */
  readonly largestString: { readonly place: string; readonly bytes: number } | null;
  /** Why these entries are no bundle; empty when they are one. */
  readonly problems: readonly Finding[];
  /** Where the names stand that the policy refuses, by class. */
  readonly refusedNames: ReadonlyMap<RefusedNameClass, readonly string[]>;
  readonly warnings: readonly Finding[];
}

/** Shorter values are not masked in a task's output: masking them would blot out half of every log. */
const SHORTEST_MASKED_BYTES = 6;

const FRAME_BYTES = Buffer.byteLength(JSON.stringify({ schema: ENVIRONMENT_BUNDLE_SCHEMA, entries: [] }));

/** Judges entries by every rule of a bundle and by the name policy, and says at which entry each limit is passed. */
export function inspectBundle(entries: readonly PlacedEntry[]): BundleReport {
  const problems: Finding[] = [];
  const warnings: Finding[] = [];
  const names = new Map<string, string>();
  const refusedNames = new Map<RefusedNameClass, string[]>();
  const {
    entries: maxEntries,
    nameBytes,
    totalBytes: maxTotal,
    carrierBytes: maxCarrier,
  } = ENVIRONMENT_BUNDLE_LIMITS;
  let totalBytes = 0;
  let carrierBytes = FRAME_BYTES;
  let escapingBytes = 0;
  let largestString: BundleReport['largestString'] = null;

  for (const [index, { name, value, place }] of entries.entries()) {
    const problem = (rule: string): number => problems.push({ place, rule });
    const breach = environmentNameBreach(name);
    const refused = refusedNameClass(name);
    if (breach === 'pattern')
      problem(`a name has letters, digits and _, starts with no digit, and has at most ${nameBytes}`);
    if (breach === 'reserved') problem('names that start with QL3_ are reserved');
    if (refused) {
      refusedNames.set(refused, [...(refusedNames.get(refused) ?? []), place]);
      problem(
        `the name is refused, class ${refused}: it would change how programs are loaded or interpreted`,
      );
    }
    const earlier = names.get(name);
    if (earlier !== undefined) problem(`the name was already set (${earlier})`);
    names.set(name, place);
    for (const rule of valueProblems(value)) problem(rule);
    for (const rule of valueWarnings(value)) warnings.push({ place, rule });

    const before = { totalBytes, carrierBytes };
    totalBytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    carrierBytes += Buffer.byteLength(JSON.stringify({ name, value })) + (index === 0 ? 0 : 1);
    escapingBytes += escaping(name) + escaping(value);
    if (index === maxEntries) problem(limit('the number of entries', entries.length, maxEntries, ''));
    if (before.totalBytes <= maxTotal && totalBytes > maxTotal) {
      problem(`from here on ${limit('all names and values', sum(entries), maxTotal, ' bytes')}`);
    }
    if (before.carrierBytes <= maxCarrier && carrierBytes > maxCarrier) {
      problem(
        `from here on ${limit('the carrier (JSON, escaping included)', carrierOf(entries), maxCarrier, ' bytes')}`,
      );
    }
    const bytes = Buffer.byteLength(name) + 1 + Buffer.byteLength(value) + 1;
    if (!largestString || bytes > largestString.bytes) largestString = { place, bytes };
  }
  if (entries.length === 0) problems.push({ place: 'the whole', rule: 'a bundle has at least one entry' });
  return {
    entries: entries.length,
    totalBytes,
    carrierBytes,
    escapingBytes,
    largestString,
    problems,
    refusedNames,
    warnings,
  };
}

function escaping(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2 - Buffer.byteLength(text);
}

function* valueProblems(value: string): Iterable<string> {
  const { valueBytes } = ENVIRONMENT_BUNDLE_LIMITS;
  const bytes = Buffer.byteLength(value);
  if (bytes > valueBytes) yield limit('the value', bytes, valueBytes, ' bytes');
  if (value.includes('\0')) yield 'a NUL cannot be part of an environment';
  if (!value.isWellFormed()) yield 'the value is not well-formed Unicode';
}

function* valueWarnings(value: string): Iterable<string> {
  const bytes = Buffer.byteLength(value);
  if (/[\r\n]$/.test(value)) yield 'the value ends with a line break, and is delivered with it';
  if (bytes > 0 && bytes < SHORTEST_MASKED_BYTES) {
    yield `the value has ${bytes} bytes: too short to be masked in a task's output`;
  }
}

function limit(what: string, actual: number, allowed: number, unit: string): string {
  return `${what}: ${actual}${unit}, and at most ${allowed} are allowed`;
}

function sum(entries: readonly PlacedEntry[]): number {
  return entries.reduce(
    (bytes, { name, value }) => bytes + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  );
}

function carrierOf(entries: readonly PlacedEntry[]): number {
  const plain = entries.map(({ name, value }) => ({ name, value }));
  return Buffer.byteLength(JSON.stringify({ schema: ENVIRONMENT_BUNDLE_SCHEMA, entries: plain }));
}
