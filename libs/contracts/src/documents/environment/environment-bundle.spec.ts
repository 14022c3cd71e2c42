import fc from 'fast-check';
import { holds } from '../../../spec/property.js';
import { refusal } from '../../../spec/refusal.js';
import { ValiseError } from '../../failure/index.js';
import {
  ENVIRONMENT_BUNDLE_LIMITS as LIMITS,
  parseEnvironmentBundle,
  readEnvironmentBundle,
  serializeEnvironmentBundle,
  writeEnvironmentBundle,
  type EnvironmentEntry,
} from './environment-bundle.js';

const SCHEMA = 'qinglong/environment-bundle@v1';
const carrier = (entries: unknown): string => JSON.stringify({ schema: SCHEMA, entries });
const one = (value: string): string => carrier([{ name: 'A', value }]);

const refused = (facts: object): object => ({ code: 'ENVIRONMENT_BUNDLE_INVALID', ...facts });

const names = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,11}$/).filter((name) => !name.startsWith('QL3_'));
const values = fc
  .string({ unit: 'binary', maxLength: 40 })
  .filter((value) => value.isWellFormed() && !value.includes('\0'));
const bundles = fc.uniqueArray(fc.record({ name: names, value: values }), {
  selector: ({ name }) => name,
  minLength: 1,
  maxLength: 8,
});

describe('an environment bundle', () => {
  it('comes back from its canonical carrier as it was packed, in code-unit order', () => {
    holds(
      'bundle/identity',
      fc.property(bundles, (entries) => {
        const text = writeEnvironmentBundle(entries);
        const bundle = parseEnvironmentBundle(text);
        expect(bundle.entries).toEqual(entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)));
        expect(serializeEnvironmentBundle(bundle)).toBe(text);
      }),
    );
  });

  it('is written canonically whatever the order of its entries', () => {
    holds(
      'bundle/order',
      fc.property(bundles, (entries) => {
        expect(writeEnvironmentBundle(entries.toReversed())).toBe(writeEnvironmentBundle(entries));
      }),
    );
  });

  it('is refused, or an equal canonical bundle, when one byte of the carrier changes', () => {
    holds(
      'bundle/mutation',
      fc.property(bundles, fc.nat(), fc.integer({ min: 0, max: 255 }), (entries, position, byte) => {
        const bytes = Buffer.from(writeEnvironmentBundle(entries), 'utf8');
        bytes[position % bytes.length] = byte;
        const result = refusal(() => {
          const canonical = serializeEnvironmentBundle(parseEnvironmentBundle(bytes));
          expect(parseEnvironmentBundle(canonical)).toEqual(parseEnvironmentBundle(bytes));
        });
        if (result !== null) expect(result).toMatchObject({ code: 'ENVIRONMENT_BUNDLE_INVALID' });
      }),
    );
  });

  it.each([
    'p$$a$(x)${HOME}`id`',
    '$2y$05$nhYO',
    'a\nb',
    'a\r\nb',
    '"q\'',
    '  both ends  ',
    'a\tb',
    'secr3t\n',
    '',
    '\u0001\u007f\u2028\ufeff',
    '€😀',
  ])('keeps %j byte for byte', (value) => {
    const bundle = readEnvironmentBundle(Buffer.from(one(value), 'utf8'));
    expect(Buffer.from(bundle.entries[0]!.value).equals(Buffer.from(value, 'utf8'))).toBe(true);
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'takes the name %s like any other',
    (name) => {
      const entries = [{ name, value: '1' }];
      expect(parseEnvironmentBundle(carrier(JSON.parse(JSON.stringify(entries)))).entries).toEqual(entries);
    },
  );

  it.each(['1bad', 'bad-key', 'A=B', '', 'A;', 'foo-bar', 'A\n', 'é', 'A B'])(
    'is refused as a whole for the name %j',
    (name) => {
      const entries = [
        { name: 'foo_bar', value: '1' },
        { name, value: '2' },
      ];
      expect(refusal(() => parseEnvironmentBundle(carrier(entries)))).toEqual(
        refused({ field: 'entries[1].name', rule: 'name_pattern' }),
      );
    },
  );

  it('is refused for two entries of one name', () => {
    const entries = [
      { name: 'A', value: '1' },
      { name: 'B', value: '2' },
      { name: 'A', value: '1' },
    ];
    const facts = refused({ field: 'entries[2].name', rule: 'duplicate_name' });
    expect(refusal(() => parseEnvironmentBundle(carrier(entries)))).toEqual(facts);
  });

  it.each([
    ['a duplicate key of an entry', '{"name":"A","name":"B","value":"1"}', 'duplicate_key'],
    ['a duplicate key spelled with an escape', '{"name":"A","value":"1","\\u0076alue":"2"}', 'duplicate_key'],
    ['an unknown key', '{"name":"A","value":"1","x":1}', 'unknown_key'],
    ['a missing key', '{"name":"A"}', 'missing_key'],
    ['null for a value', '{"name":"A","value":null}', 'unexpected'],
    ['a lone surrogate', '{"name":"A","value":"a\\ud800b"}', 'lone_surrogate'],
  ])('is refused for %s', (_, entry, rule) => {
    const text = `{"schema":"${SCHEMA}","entries":[${entry}]}`;
    expect(refusal(() => parseEnvironmentBundle(text))).toMatchObject(refused({ rule }));
  });

  it('is refused for a BOM and for ill-formed UTF-8', () => {
    expect(refusal(() => parseEnvironmentBundle(`\ufeff${one('1')}`))).toMatchObject(
      refused({ rule: 'unexpected' }),
    );
    const bytes = Buffer.from(one('a#b'), 'utf8');
    bytes[bytes.indexOf('#')] = 0xff;
    expect(refusal(() => parseEnvironmentBundle(bytes))).toMatchObject(refused({ rule: 'utf8' }));
  });

  it.each([
    ['accessors', Object.defineProperty({ name: 'A' }, 'value', { get: () => '1', enumerable: true })],
    ['symbol keys', { name: 'A', value: '1', [Symbol('x')]: 1 }],
    ['hidden keys', Object.defineProperty({ name: 'A', value: '1' }, 'x', { value: 1, enumerable: false })],
    [
      'a class',
      new (class Entry {
        name = 'A';
        value = '1';
      })(),
    ],
  ])('is not written from an entry with %s', (_, entry) => {
    expect(refusal(() => writeEnvironmentBundle([entry as EnvironmentEntry]))).toMatchObject(
      refused({ field: 'entries[0]' }),
    );
  });

  it('never quotes a value in its refusal', () => {
    const texts = [
      one('hunter2-\0-tail'),
      one('hunter2-secret').slice(0, -14),
      one('hunter2-x').replace('"value"', '"hunter2-"'),
    ];
    for (const text of texts) {
      try {
        parseEnvironmentBundle(text);
        throw new Error('accepted');
      } catch (error) {
        const { stack, cause } = error as Error;
        expect(error).toBeInstanceOf(ValiseError);
        expect(cause).toBeUndefined();
        expect(`${String(error)} ${stack ?? ''} ${JSON.stringify(error)}`).not.toContain('hunter2');
      }
    }
  });

  it('is zeroed as a whole by wipe', () => {
    const bundle = readEnvironmentBundle(
      Buffer.from(
        carrier([
          { name: 'A', value: 'x' },
          { name: 'B', value: 'yy' },
        ]),
      ),
    );
    const arena = Buffer.from(bundle.entries[0]!.value.buffer);
    expect(arena.includes('yy')).toBe(true);
    bundle.wipe();
    expect(arena.every((byte) => byte === 0)).toBe(true);
  });
});

describe('the limits of a bundle count bytes', () => {
  const total = (bytes: number): unknown[] =>
    Array.from({ length: 4 }, (_, index) => ({
      name: `N${index}`,
      value: 'x'.repeat(index < 3 ? 16_000 : bytes - 48_000 - 8),
    }));

  it.each([
    ['value', (n: number) => one('x'.repeat(n)), LIMITS.valueBytes, 'max_bytes'],
    [
      'value of multi-byte text',
      (n: number) => one('é'.repeat(8191) + 'x'.repeat(n - 16_382)),
      LIMITS.valueBytes,
      'max_bytes',
    ],
    [
      'total',
      (n: number) =>
        carrier(n > 64_384 ? [...total(64_384), { name: 'Z', value: 'x'.repeat(n - 64_385) }] : total(n)),
      LIMITS.totalBytes,
      'total_bytes',
    ],
    ['carrier', (n: number) => one('1').padEnd(n), LIMITS.carrierBytes, 'max_bytes'],
    [
      'entries',
      (n: number) => carrier(Array.from({ length: n }, (_, i) => ({ name: `N${i}`, value: '' }))),
      LIMITS.entries,
      'max_items',
    ],
    ['name', (n: number) => carrier([{ name: 'N'.repeat(n), value: '' }]), LIMITS.nameBytes, 'max_bytes'],
  ])('%s: one below and at the limit pass, one above is refused', (_, make, limit, rule) => {
    expect(refusal(() => parseEnvironmentBundle(make(limit - 1)))).toBeNull();
    expect(refusal(() => parseEnvironmentBundle(make(limit)))).toBeNull();
    expect(refusal(() => parseEnvironmentBundle(make(limit + 1)))).toMatchObject(
      refused({ rule, limit, actual: limit + 1 }),
    );
  });

  it("refuses '€' × 16384, which is 48 KiB", () => {
    expect(refusal(() => parseEnvironmentBundle(one('€'.repeat(16_384))))).toEqual(
      refused({ field: 'entries[0].value', rule: 'max_bytes', limit: 16_384, actual: 49_152 }),
    );
  });

  it('refuses to pack 64,000 newlines, naming the carrier and its 128,155 bytes', () => {
    const entries = ['A', 'B', 'C', 'D'].map((name) => ({ name, value: '\n'.repeat(16_000) }));
    const actual = Buffer.byteLength(carrier(entries));
    expect(actual).toBeGreaterThan(128_000);
    expect(refusal(() => writeEnvironmentBundle(entries))).toEqual(
      refused({ field: 'carrier', rule: 'max_bytes', limit: LIMITS.carrierBytes, actual }),
    );
  });
});
