import fc from 'fast-check';
import { bodiesOf } from '../../spec/arbitrary-body.js';
import { mutated, mutations } from '../../spec/mutation.js';
import { holds } from '../../spec/property.js';
import { parseJson } from '../documents/index.js';
import { EXAMPLES } from '../examples/index.js';
import { ValiseError, type Facts } from '../failure/index.js';
import * as wire from './index.js';

type Dto = new () => object;
type Body = Readonly<Record<string, unknown>>;

const examples = [...EXAMPLES];

/** The facts of the refusal, or null for an accepted body. A foreign error fails the test. */
function refusal(type: Dto, json: unknown): Facts | null {
  try {
    wire.readBody(type, json, 'invalid_request');
    return null;
  } catch (error) {
    if (error instanceof ValiseError && error.code === 'invalid_request') return error.facts;
    throw error;
  }
}

const isDto = (value: unknown): value is Dto =>
  typeof value === 'function' && wire.fieldsOf(value as Dto).size > 0;

describe('the bodies of the wire', () => {
  it('have an example each, which is accepted as it stands', () => {
    const classes = (Object.values(wire) as unknown[]).filter(isDto);
    expect(classes.filter((type) => !EXAMPLES.has(type)).map(({ name }) => name)).toEqual([]);
    for (const [type, body] of EXAMPLES) {
      expect(wire.readBody(type, JSON.parse(JSON.stringify(body)), 'invalid_request')).toEqual(body);
    }
  });

  it('with fields of the published schema are accepted unchanged, or break a rule over several fields', () => {
    const bodies = fc.oneof(
      ...examples.map(([type]) => fc.record({ type: fc.constant(type), body: bodiesOf(type) })),
    );
    holds(
      'body/identity',
      fc.property(bodies, ({ type, body }) => {
        const json = JSON.parse(JSON.stringify(body)) as Body;
        const facts = refusal(type, json);
        if (facts === null) expect(wire.readBody(type, json, 'invalid_request')).toEqual(json);
        else expect(hasRules(type)).toBe(true);
      }),
    );
  });

  it('are refused, or read as the value that they spell, when one byte changes', () => {
    holds(
      'body/mutation',
      fc.property(fc.constantFrom(...examples), mutations, ([type, body], mutation) => {
        const bytes = mutated(JSON.stringify(body), mutation);
        let json: unknown;
        try {
          json = parseJson(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(ValiseError);
          return;
        }
        if (refusal(type, json) === null) {
          expect(JSON.stringify(wire.readBody(type, json, 'invalid_request'))).toBe(
            JSON.stringify(wire.readBody(type, JSON.parse(bytes.toString('utf8')), 'invalid_request')),
          );
          expect(wire.readBody(type, json, 'invalid_request')).toEqual(json);
        }
      }),
    );
  });

  it('are refused by name of the field for any value of another type', () => {
    const strangers = fc.oneof(
      fc.constantFrom<unknown>(null, '', 'x\ud800', -1, 0.5, 2 ** 53, NaN, true, [], {}, [[]], [null]),
      fc.jsonValue({ maxDepth: 1 }),
    );
    const cases = fc.constantFrom(...examples).chain(([type, body]) =>
      fc.record({
        type: fc.constant(type),
        body: fc.constant(body),
        key: fc.constantFrom(...Object.keys(body)),
      }),
    );
    holds(
      'body/value',
      fc.property(cases, strangers, ({ type, body, key }, value) => {
        const facts = refusal(type, { ...body, [key]: value });
        const field = wire.fieldsOf(type).get(key);
        if (facts === null) expect(field?.check(value)).toBeNull();
        else expect(facts).toMatchObject({ field: expect.any(String), rule: expect.any(String) });
      }),
    );
  });
});

/** A text that may hold characters of several bytes. */
function isFreeText({ schema: { type, pattern } }: wire.DtoField): boolean {
  return type === 'string' && (typeof pattern !== 'string' || new RegExp(pattern).test('€'));
}

function hasRules(type: Dto): boolean {
  const below = [...wire.fieldsOf(type).values()].flatMap(({ nested }) => (nested ? [nested()] : []));
  return wire.rulesOf(type).length > 0 || below.some(hasRules);
}

const fields = examples.flatMap(([type, body]) =>
  [...wire.fieldsOf(type).values()].map((field) => ({ of: type.name, field, type, body })),
);
type FieldCase = (typeof fields)[number];

const broken = ({ type, body, field }: FieldCase, value: unknown): Facts | null =>
  refusal(type, { ...body, [field.name]: value });

const table = (kept: (field: wire.DtoField) => boolean): [string, FieldCase][] =>
  fields.filter(({ field }) => kept(field)).map((each) => [`${each.of}.${each.field.name}`, each]);

describe('a field', () => {
  it.each(table(({ optional }) => !optional))('%s is required', (_, { type, body, field: { name } }) => {
    const rest = Object.fromEntries(Object.entries(body).filter(([key]) => key !== name));
    expect(refusal(type, rest)).toEqual({ field: name, rule: 'required' });
  });

  it.each(table(({ check }) => check(null) !== null))('%s is not null', (_, each) => {
    expect(broken(each, null)).toMatchObject({ field: each.field.name });
  });

  it.each(table(isFreeText))('%s is limited in bytes: one below and at pass, one above not', (_, each) => {
    const { name, schema, check } = each.field;
    const limit = Number(schema.maxLength);
    for (const character of ['x', 'é', '€', '😀']) {
      const width = Buffer.byteLength(character);
      const filled = (bytes: number): string =>
        character.repeat(Math.floor(bytes / width)) + 'x'.repeat(bytes % width);
      expect(check(filled(limit - 1))).toBeNull();
      expect(check(filled(limit))).toBeNull();
      const facts = { field: name, rule: 'max_bytes', limit, actual: limit + 1 };
      expect(broken(each, filled(limit + 1))).toEqual(facts);
    }
  });

  it.each(table(({ schema }) => schema.minimum !== undefined))('%s is a number within bounds', (_, each) => {
    const { name: field, schema, check } = each.field;
    const [low, high] = [Number(schema.minimum), Number(schema.maximum)];
    for (const value of [low, low + 1, high - 1, high]) expect(check(value)).toBeNull();
    expect(broken(each, low - 1)).toEqual({ field, rule: 'minimum', limit: low, actual: low - 1 });
    if (high < Number.MAX_SAFE_INTEGER) {
      expect(broken(each, high + 1)).toEqual({ field, rule: 'maximum', limit: high, actual: high + 1 });
    }
    for (const value of [low + 0.5, String(low), true, NaN, Infinity, 2 ** 53]) {
      expect(broken(each, value)).toMatchObject({ field });
    }
  });

  it.each(table(({ schema }) => schema.pattern !== undefined))('%s is judged as a whole', (_, { field }) => {
    expect(field.schema.pattern).toMatch(/^\^.*\$$/);
  });
});

describe('an unknown key', () => {
  it.each(examples.map(([type, body]) => [type.name, type, body] as const))(
    'of %s is refused',
    (_, type, body) => {
      expect(refusal(type, { ...body, extra: 1 })).toEqual({ field: 'body', rule: 'unknown_key' });
    },
  );
});
