import * as fc from 'fast-check';
import { MaskPatterns } from './mask-patterns.js';
import { Masker } from './masker.js';

const patterns = (...values: string[]): MaskPatterns =>
  new MaskPatterns(values.map((value) => Buffer.from(value)));

function masked(values: MaskPatterns, ...chunks: (string | Uint8Array)[]): string {
  const masker = new Masker(values);
  const shown = chunks.map((chunk) => masker.push(Buffer.from(chunk as string)));
  return Buffer.concat([...shown, masker.end()]).toString('latin1');
}

/** The slow and obvious way: look for every pattern at every place of the whole text. */
function oracle(values: readonly Uint8Array[], text: Buffer): string {
  const covered = new Uint8Array(text.length);
  const lines = values.flatMap((value) => [
    Buffer.from(value).toString('latin1'),
    ...Buffer.from(value).toString('latin1').split(/\r?\n/),
    ...Buffer.from(value)
      .toString('latin1')
      .split(/[\r\n]/),
  ]);
  for (const line of lines.map((each) => Buffer.from(each, 'latin1')).filter(({ length }) => length >= 6)) {
    for (let at = text.indexOf(line); at >= 0; at = text.indexOf(line, at + 1)) {
      covered.fill(1, at, at + line.length);
    }
  }
  let shown = '';
  for (let at = 0; at < text.length; at += 1) {
    if (!covered[at]) shown += String.fromCharCode(text[at]!);
    else if (at === 0 || !covered[at - 1]) shown += '***';
  }
  return shown;
}

describe('masked output', () => {
  const value = 'correct horse battery';

  it('hides a value wherever the output is split', () => {
    const text = `before ${value} after ${value}${value}`;
    for (let first = 0; first <= text.length; first += 1) {
      for (let second = first; second <= text.length; second += 1) {
        const parts = [text.slice(0, first), text.slice(first, second), text.slice(second)];
        expect(masked(patterns(value), ...parts)).toBe('before *** after ***');
      }
    }
  });

  it('hides a value that comes byte by byte', () => {
    expect(masked(patterns(value), ...Array.from(`a${value}b`))).toBe('a***b');
  });

  it('hides each line of a value of several, with LF and CRLF', () => {
    const lines = patterns('first line\r\nsecond line\nthird line');
    expect(masked(lines, 'first line\nsecond line\nx third line')).toBe('***\n***\nx ***');
    expect(masked(lines, 'first line\r\nsecond line\nthird line')).toBe('***');
  });

  it('hides each line of a value whose lines end with CR alone', () => {
    const lines = patterns('first line\rsecond line\nab\rcdef');
    expect(masked(lines, 'first line\nsecond line\rx ab\rcdef')).toBe('***\n***\rx ***');
  });

  it('covers values that overlap, nest and follow one another with one mask', () => {
    const overlapping = patterns('abcdefgh', 'efghijkl', 'bcdefg');
    expect(masked(overlapping, '-abcdefghijkl-')).toBe('-***-');
    expect(masked(overlapping, '-bcdefg-abcdef-')).toBe('-***-abcdef-');
  });

  it('shows the beginning of a value that does not go on, at the end of the stream at the latest', () => {
    const masker = new Masker(patterns('abcdef'));
    expect(masker.push(Buffer.from('xabc')).toString()).toBe('x');
    expect(masker.push(Buffer.from('d')).toString()).toBe('');
    expect(masker.end().toString()).toBe('abcd');
  });

  it('leaves values under six bytes alone and counts them', () => {
    const short = patterns('', 'a', '{', 'abcde');
    expect(short.unmaskable).toBe(3);
    expect(masked(short, 'abcde { a')).toBe('abcde { a');
  });

  it('shows no part and no length of a value', () => {
    expect(masked(patterns('abc12345'), 'key=abc12345;')).toBe('key=***;');
  });

  it('hides bytes that are no text', () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x80, 0x00, 0x81, 0xc3]);
    expect(
      masked(new MaskPatterns([bytes]), Buffer.concat([Buffer.from('a'), bytes, Buffer.from('b')])),
    ).toBe('a***b');
  });

  it('equals a search of the whole text, for random values, texts and splits', () => {
    const letters = fc.constantFrom(0x61, 0x62, 0x0a, 0x0d);
    const values = fc.array(
      fc
        .uint8Array({ minLength: 0, maxLength: 14 })
        .map((raw) => raw.map((b) => [0x61, 0x62, 0x0a, 0x0d][b % 4]!)),
      { maxLength: 6 },
    );
    const texts = fc.array(letters, { maxLength: 200 });
    const splits = fc.array(fc.nat(200), { maxLength: 5 });
    fc.assert(
      fc.property(values, texts, splits, (secret, letterList, cuts) => {
        const text = Buffer.from(letterList);
        const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
        const chunks = at.slice(1).map((end, index) => text.subarray(at[index], end));
        expect(masked(new MaskPatterns(secret), ...chunks)).toBe(oracle(secret, text));
      }),
      { numRuns: 3000 },
    );
  });

  it('hides nothing any more once the values are forgotten', () => {
    const values = patterns(value);
    const masker = new Masker(values);
    const begun = masker.push(Buffer.from(value.slice(0, 8)));
    values.forget();
    const shown = [begun, masker.push(Buffer.from(value.slice(8))), masker.end()];
    expect(Buffer.concat(shown).toString()).toBe(value);
  });
});
