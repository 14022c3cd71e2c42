import * as fc from 'fast-check';
import { masked, maskedHoweverSplit, patternsOf, searchesFor, split, textOf } from '../../spec/masking.js';
import { Masker } from './masker.js';

const MIN_BYTES = 6;

/** The slow and obvious way: look for every value and line at every place of the whole text. */
function oracle(values: readonly Uint8Array[], text: Buffer): string {
  const covered = new Uint8Array(text.length);
  const lines = values.flatMap((value) => {
    const whole = Buffer.from(value).toString('latin1');
    return [whole, ...whole.split(/\r?\n/), ...whole.split(/[\r\n]/)];
  });
  for (const line of lines.map((each) => Buffer.from(each, 'latin1'))) {
    if (line.length < MIN_BYTES) continue;
    for (let at = text.indexOf(line); at >= 0; at = text.indexOf(line, at + 1)) {
      covered.fill(1, at, at + line.length);
    }
  }
  let shown = '';
  for (const [at, byte] of text.entries()) {
    if (!covered[at]) shown += String.fromCharCode(byte);
    else if (at === 0 || !covered[at - 1]) shown += '***';
  }
  return shown;
}

describe('masked output', () => {
  const value = 'correct horse battery';

  it('hides a value wherever the output is split', async () => {
    expect(await maskedHoweverSplit(value, `before ${value} after ${value}${value}`)).toBe(
      'before *** after ***',
    );
  });

  it('hides a value at whatever distance from what is none', async () => {
    const search = await searchesFor('abcdef', 'a longer value');
    for (let distance = 0; distance < 40; distance += 1) {
      const before = '-'.repeat(distance);
      expect(masked(search, `${before}abcdef--`)).toBe(`${before}***--`);
    }
  });

  it('hides each line of a value of several, with LF, CRLF and CR', async () => {
    const lines = await searchesFor('first line\r\nsecond line\nthird line\rfourth line\nab\rcdef');
    expect(masked(lines, 'first line\nsecond line\nx third line')).toBe('***\n***\nx ***');
    expect(masked(lines, 'fourth line x ab\rcdef')).toBe('*** x ***');
    expect(masked(await searchesFor('first line\r\nsecond line'), 'first line\r\nsecond line')).toBe('***');
  });

  it('covers values that overlap, nest and follow one another with one mask', async () => {
    const overlapping = await searchesFor('abcdefgh', 'efghijkl', 'bcdefg');
    expect(masked(overlapping, '-abcdefghijkl-')).toBe('-***-');
    expect(masked(overlapping, '-bcdefg-abcdef-')).toBe('-***-abcdef-');
    expect(masked(await searchesFor('abcdefghijkl', 'cdefgh'), '-abcdefgh-')).toBe('-ab***-');
  });

  it('leaves values under six bytes alone and counts them', async () => {
    const short = patternsOf('', 'a', '{', 'abcde');
    expect(short.unmaskable).toBe(3);
    expect(masked(await short.prepare(), 'abcde { a')).toBe('abcde { a');
  });

  it('shows no part and no length of a value', async () => {
    expect(masked(await searchesFor('abc12345'), 'key=abc12345;')).toBe('key=***;');
  });

  it('hides bytes that are no text', async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x80, 0x00, 0x81, 0xc3]);
    expect(await maskedHoweverSplit(bytes, Buffer.concat([Buffer.from('a'), bytes, Buffer.from('b')]))).toBe(
      'a***b',
    );
  });

  it('leaves alone what is a value only without the line end in it', async () => {
    expect(masked(await searchesFor('abcdefgh'), 'abcd\nefgh')).toBe('abcd\nefgh');
  });

  it('equals a search of the whole text, for random values, texts and splits', async () => {
    const LETTERS = [0x2e, 0x2c, 0x0a, 0x0d];
    const letters = fc.nat(3).map((index) => LETTERS[index] ?? 0);
    const values = fc.array(
      fc.array(letters, { maxLength: 14 }).map((bytes) => Buffer.from(bytes)),
      { maxLength: 6 },
    );
    const texts = fc.array(letters, { maxLength: 200 }).map((bytes) => Buffer.from(bytes));
    await fc.assert(
      fc.asyncProperty(
        values,
        texts,
        fc.array(fc.nat(200), { maxLength: 5 }),
        async (secrets, text, cuts) => {
          expect(masked(await searchesFor(...secrets), ...split(text, cuts))).toBe(oracle(secrets, text));
        },
      ),
      { numRuns: 600 },
    );
  });

  it('hides nothing any more once the values are forgotten', async () => {
    const values = patternsOf(value);
    const masker = new Masker<null>(await values.prepare());
    const begun = masker.push(Buffer.from(value.slice(0, 5)), null);
    values.forget();
    const rest = masker.push(Buffer.from(value.slice(5)), null);
    expect(textOf([...begun, ...rest, ...masker.end()])).toBe(value);
  });
});

describe('what is held back', () => {
  it('is shown as soon as it cannot become a value any more', async () => {
    const masker = new Masker<number>(await searchesFor('.,.,.,.;'));
    expect(textOf(masker.push(Buffer.from('-\n .,.,.'), 1))).toBe('-\n');
    expect(textOf(masker.push(Buffer.from(' -\n x'), 2))).toBe(' .,.,. -\n');
  });

  it('is shown when the stream pauses, but for six bytes and more of what may be a value', async () => {
    const pausedAfter = async (bytes: number): Promise<string> => {
      const masker = new Masker<null>(await searchesFor('.,:;!?.,'));
      const shown = masker.push(Buffer.from(`.,:;!?.,`.slice(0, bytes)), null);
      return textOf([
        ...shown,
        ...masker.pause(),
        ...masker.push(Buffer.from('.,:;!?.,'.slice(bytes)), null),
        ...masker.push(Buffer.from('.'), null),
        ...masker.end(),
      ]);
    };
    expect(await pausedAfter(5)).toBe('.,:;!***.');
    expect(await pausedAfter(6)).toBe('***.');
    expect(await pausedAfter(7)).toBe('***.');
  });

  it('is given out with the arrival it came with', async () => {
    const masker = new Masker<string>(await searchesFor('.,:;!?.,'));
    const first = masker.push(Buffer.from('one .,:'), 'first');
    const second = masker.push(Buffer.from(';!'), 'second');
    expect(masker.oldest).toBe('first');
    const third = masker.push(Buffer.from('- two'), 'third');
    const pieces = [...first, ...second, ...third, ...masker.end()];
    const said = new Map<string, string>();
    for (const { arrival, bytes } of pieces) {
      said.set(arrival, `${said.get(arrival) ?? ''}${bytes.toString('latin1')}`);
    }
    expect([...said]).toEqual([
      ['first', 'one .,:'],
      ['second', ';!'],
      ['third', '- two'],
    ]);
    expect(masker.oldest).toBeUndefined();
  });
});
