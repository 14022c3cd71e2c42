import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ValiseError } from '@valise/contracts/failure';
import { decode } from './encoding.js';
import { KINDS } from './kinds.js';

const FOLDER = join(__dirname, '../../../../test/vectors');

interface Case {
  readonly id: string;
  readonly kind: string;
  readonly input: unknown;
  readonly isRefused: boolean;
}

const cases: readonly Case[] = readdirSync(FOLDER).flatMap((file) => {
  const vectors = JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as (Case & { expected: unknown })[];
  return vectors.map(({ id, kind, input, expected }) => ({
    id,
    kind,
    input: decode(input),
    isRefused: typeof expected === 'object' && expected !== null && Object.hasOwn(expected, 'error'),
  }));
});

/** The refusal of an input, or null. A foreign error fails the test: its message quotes its input. */
function refusalOf(kind: string, input: unknown): ValiseError | null {
  try {
    KINDS[kind]?.(input as never);
    return null;
  } catch (error) {
    if (error instanceof ValiseError) return error;
    throw new Error(`${kind} threw a foreign ${(error as Error).name}`, { cause: error });
  }
}

/** All that a log, a response or a terminal could show of an error. */
function told(error: ValiseError): string {
  const frames = (error.stack ?? '').split('\n').filter((line) => !line.startsWith('    at '));
  return [String(error), ...frames, JSON.stringify(error), JSON.stringify(error.facts)].join('\n');
}

/** Kinds that take facts of the program's own, which no document brings. */
const OF_OUR_OWN: ReadonlySet<string> = new Set(['collation.sort', 'placement.evaluate']);

const CANARY = 'hunter2canary';

/** Input texts: every string in a value, and the keys of objects. */
function* texts(value: unknown): Iterable<string> {
  if (value instanceof Uint8Array) yield Buffer.from(value).toString('latin1');
  else if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      if (!Array.isArray(value)) yield key;
      yield* texts(member);
    }
  }
}

/** Shorter texts occur by chance. */
const SHORTEST = 8;

/** The damages of an input, each of which plants the canary: in place of each text, in each key, at the end of each text. */
function* damages(value: unknown): Iterable<unknown> {
  if (typeof value === 'string') {
    yield CANARY;
    yield `${CANARY}\0${CANARY}`;
    yield `${CANARY}\ud800`;
    yield CANARY.repeat(1300);
    yield value + CANARY;
    yield value.slice(0, value.length / 2) + CANARY;
    yield CANARY + value;
    yield `{"${CANARY}":"${CANARY}`;
  } else if (value instanceof Uint8Array) {
    yield Buffer.concat([value, Buffer.from(CANARY)]);
    yield Buffer.concat([value.subarray(0, value.length / 2), Buffer.from(CANARY)]);
  } else if (Array.isArray(value)) {
    yield [...(value as unknown[]), CANARY];
    yield { [CANARY]: value };
    const [first] = value as unknown[];
    if (first !== undefined) {
      for (const damaged of damages(first)) yield [damaged, ...(value as unknown[]).slice(1)];
    }
  } else if (typeof value === 'object' && value !== null) {
    yield { ...value, [CANARY]: CANARY };
    yield [CANARY];
    for (const [key, member] of Object.entries(value)) {
      for (const damaged of damages(member)) yield { ...value, [key]: damaged };
    }
  } else {
    yield CANARY;
    yield [CANARY];
    yield { [CANARY]: CANARY };
  }
}

function* keysOf(value: unknown): Iterable<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    if (!Array.isArray(value)) yield key;
    yield* keysOf(member);
  }
}

/** The words of the formats, which facts are made of: the keys of accepted inputs. */
const WORDS: ReadonlySet<string> = new Set(
  cases.filter(({ isRefused }) => !isRefused).flatMap(({ input }) => [...keysOf(input)]),
);

describe('a refusal', () => {
  it('of a vector says nothing that its input says', () => {
    const refused = cases.filter(({ isRefused }) => isRefused);
    expect(refused.length).toBeGreaterThan(1500);
    for (const { id, kind, input } of refused) {
      const error = refusalOf(kind, input);
      if (!error) throw new Error(`${id} was accepted`);
      const message = told(error);
      const quoted = [...texts(input)].filter(
        (text) => text.length >= SHORTEST && !WORDS.has(text) && message.includes(text),
      );
      expect([id, quoted]).toEqual([id, []]);
      expect((error as Error).cause).toBeUndefined();
    }
  });

  it('names its rule, the place, and for every limit the limit and the count', () => {
    for (const { id, kind, input, isRefused } of cases) {
      if (!isRefused) continue;
      const { facts = {} } = refusalOf(kind, input) ?? {};
      const { rule, field, offset, limit, actual } = facts;
      const place = rule === 'duplicate_key' ? 'text' : (field ?? offset);
      expect([id, rule, place]).toEqual([id, expect.any(String), expect.anything()]);
      if (/_bytes$|_items$|^(min|max)imum$/.test(String(rule))) {
        expect([id, rule, typeof limit, typeof actual]).toEqual([id, rule, 'number', 'number']);
      }
    }
  });

  it('of an accepted vector that was damaged anywhere never quotes what was planted', () => {
    const seen = new Map<string, number>();
    let refusals = 0;
    for (const { kind, input, isRefused } of cases) {
      // A few inputs of a kind have every shape of it.
      const count = seen.get(kind) ?? 0;
      if (isRefused || count >= 3 || OF_OUR_OWN.has(kind)) continue;
      seen.set(kind, count + 1);
      for (const damaged of damages(input)) {
        const error = refusalOf(kind, damaged);
        if (!error) continue;
        refusals++;
        expect(told(error)).not.toContain(CANARY.slice(0, 7));
      }
    }
    expect(refusals).toBeGreaterThan(4000);
  });
});
