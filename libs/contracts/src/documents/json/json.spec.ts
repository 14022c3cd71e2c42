import fc from 'fast-check';
import { holds } from '../../../spec/property.js';
import { refusal } from '../../../spec/refusal.js';
import { parseJson } from './json.js';

const refusalOf = (text: Uint8Array | string): unknown => refusal(() => parseJson(text));

describe('strict JSON', () => {
  it.each([
    ['a duplicate key', '{"a":1,"a":2}', { rule: 'duplicate_key' }],
    ['a duplicate key deep inside', '[{"b":[{"a":1,"c":{},"a":1}]}]', { rule: 'duplicate_key' }],
    ['a duplicate key spelled with an escape', '{"a":1,"\\u0061":2}', { rule: 'duplicate_key' }],
    ['a duplicate __proto__', '{"__proto__":1,"__proto__":2}', { rule: 'duplicate_key' }],
    ['a duplicate that hides an object', '{"a":{"b":1},"a":2}', { rule: 'duplicate_key' }],
    ['a BOM', '\ufeff{}', { rule: 'unexpected', offset: 0 }],
    ['trailing text', '{} x', { rule: 'trailing_text', offset: 3 }],
    ['two documents', '{}{}', { rule: 'trailing_text', offset: 2 }],
    ['a cut object', '{"a":1', { rule: 'truncated', offset: 6 }],
    ['nothing', '', { rule: 'truncated', offset: 0 }],
    ['a trailing comma', '[1,]', { rule: 'unexpected', offset: 3 }],
    ['a leading zero', '[01]', { rule: 'unexpected', offset: 2 }],
    ['a number without digits', '[-]', { rule: 'number', offset: 2 }],
    ['NaN', '[NaN]', { rule: 'unexpected', offset: 1 }],
    ['a raw control character', '["a\nb"]', { rule: 'control_character', offset: 3 }],
    ['an unknown escape', '["\\x"]', { rule: 'escape', offset: 2 }],
    ['half a surrogate pair', '["\\ud83d"]', { rule: 'lone_surrogate', offset: 2 }],
    ['a surrogate pair in the wrong order', '["\\ude00\\ud83d"]', { rule: 'lone_surrogate', offset: 2 }],
    ['half a surrogate pair in a key', '{"\\udc00":1}', { rule: 'lone_surrogate', offset: 2 }],
    ['a raw lone surrogate', '["\ud800"]', { rule: 'lone_surrogate' }],
  ])('refuses %s', (_, text, facts) => {
    expect(refusalOf(text)).toEqual({ code: 'JSON_INVALID', ...facts });
  });

  it.each([
    ['a cut sequence', '22c322'],
    ['an overlong form', '22c0af22'],
    ['a surrogate as bytes', '22eda08022'],
    ['a code point past U+10FFFF', '22f490808022'],
    ['a byte that starts nothing', '22ff22'],
  ])('refuses ill-formed UTF-8: %s', (_, hex) => {
    expect(refusalOf(Buffer.from(hex, 'hex'))).toEqual({ code: 'JSON_INVALID', rule: 'utf8', offset: 1 });
  });

  it('refuses a BOM as bytes, which a decoder would drop', () => {
    const facts = { code: 'JSON_INVALID', rule: 'unexpected', offset: 0 };
    expect(refusalOf(Buffer.from('efbbbf7b7d', 'hex'))).toEqual(facts);
  });

  it.each([
    '{"a":"\\\\","b":"\\"","c":":"}',
    '{"\\"":":\\\\\\"","\\\\":"\\u0041:"}',
    '["\\u003a",{"x":"\\n:"}]',
  ])('counts no key inside a string with escapes: %s', (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it('takes 64 levels and refuses a depth bomb at the 65th', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    expect(refusalOf(nested(64))).toBeNull();
    expect(refusalOf(nested(65))).toEqual({ code: 'JSON_INVALID', rule: 'depth', offset: 64, limit: 64 });
    expect(refusalOf('{"a":'.repeat(100_000))).toMatchObject({ rule: 'depth' });
    expect(refusalOf(nested(1_000_000))).toMatchObject({ rule: 'depth' });
  });

  it('keeps an own __proto__ key an own key', () => {
    const value = parseJson('{"__proto__":{"polluted":true},"constructor":1}') as object;
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect('polluted' in value).toBe(false);
  });

  it('is what JSON.parse makes of everything it must accept', () => {
    holds(
      'json/oracle',
      fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }), fc.nat(4), (value, space) => {
        const text = JSON.stringify(value, null, space);
        const expected: unknown = JSON.parse(text);
        expect(parseJson(text)).toEqual(expected);
        expect(parseJson(Buffer.from(text, 'utf8'))).toEqual(expected);
      }),
    );
  });

  it('accepts no byte sequence that JSON.parse refuses', () => {
    const alphabet = fc.constantFrom(...'{}[]",:\\u0dD8e-+.19 tfalsn\n'.split(''));
    holds(
      'json/strictness',
      fc.property(fc.array(alphabet, { maxLength: 24 }), (characters) => {
        const text = characters.join('');
        if (refusalOf(text) === null) expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('refuses with a fixed code and never quotes the text', () => {
    holds(
      'json/canary',
      fc.property(fc.stringMatching(/^[a-z]{12}$/), fc.nat(40), (secret, cut) => {
        const text = `{"schema":"x","value":"${secret}`.slice(0, 20 + cut);
        try {
          parseJson(text);
        } catch (error) {
          const told = `${String(error)} ${(error as Error).stack ?? ''} ${JSON.stringify(error)}`;
          expect((error as Error).cause).toBeUndefined();
          expect(told).not.toContain(secret.slice(0, 6));
        }
      }),
    );
  });
});
