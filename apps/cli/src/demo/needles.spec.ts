import fc from 'fast-check';
import { isSearchable, patternsOf, type Needle } from './needles.js';

const needle = (text: string): Needle => ({ label: 'n', kind: 'value', bytes: Buffer.from(text) });
const finds = (text: string, where: Buffer | string): boolean =>
  patternsOf([needle(text)]).some(({ bytes }) => Buffer.from(where).includes(bytes));

describe('a needle', () => {
  it.each([
    ['as it is', (value: string) => value],
    ['in a JSON string', (value: string) => JSON.stringify({ key: value })],
    ['in UTF-16, little end first', (value: string) => Buffer.from(value, 'utf16le')],
    ['in UTF-16, big end first', (value: string) => Buffer.from(value, 'utf16le').swap16()],
    ['in hex', (value: string) => Buffer.from(value).toString('hex')],
    ['in upper-case hex', (value: string) => Buffer.from(value).toString('hex').toUpperCase()],
    ['in base64', (value: string) => Buffer.from(value).toString('base64')],
    ['in base64 after one byte', (value: string) => Buffer.from(`u${value}!`).toString('base64')],
    ['in base64 after two bytes', (value: string) => Buffer.from(`u:${value}!!`).toString('base64')],
    ['in URL-safe base64', (value: string) => Buffer.from(`user:${value}`).toString('base64url')],
    ['by its first line alone', (value: string) => value.split('\n')[0] ?? ''],
  ])('is found %s', (_where, spell) => {
    fc.assert(
      fc.property(
        fc
          .string({ unit: 'grapheme', minLength: 12, maxLength: 60 })
          .map((text) => text.trim() + '-"line"\\'),
        (text) => finds(`${text}\nsecond line`, spell(`${text}\nsecond line`)),
      ),
      { numRuns: 200, seed: 11 },
    );
  });

  it('of fewer than six bytes is not searched for', () => {
    expect(isSearchable(needle('12345'))).toBe(false);
    expect(isSearchable(needle('€€'))).toBe(true);
    expect(patternsOf([needle('12345')])).toEqual([]);
  });

  it('is not seen where another text stands', () => {
    expect(finds('s3cret-value', 's3cret-valu')).toBe(false);
    expect(finds('s3cret-value', Buffer.from('s3cret-valuf').toString('base64'))).toBe(false);
  });
});
