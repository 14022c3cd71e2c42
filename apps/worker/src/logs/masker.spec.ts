import * as fc from 'fast-check';
import { MaskPatterns, type Searches } from './mask-patterns.js';
import { Masker, type Piece } from './masker.js';

const MIN_BYTES = 6;
const patternsOf = (...values: (string | Uint8Array)[]): MaskPatterns =>
  new MaskPatterns(values.map((value) => Buffer.from(value as string)));
const searchesFor = (...values: (string | Uint8Array)[]): Promise<Searches> =>
  patternsOf(...values).prepare();

const textOf = (pieces: readonly Piece<unknown>[]): string =>
  Buffer.concat(pieces.map(({ bytes }) => bytes)).toString('latin1');

function masked(searches: Searches, ...chunks: (string | Uint8Array)[]): string {
  const masker = new Masker<null>(searches);
  const shown = chunks.flatMap((chunk) => masker.push(Buffer.from(chunk as string), null));
  return textOf([...shown, ...masker.end()]);
}

/** The text in pieces that end at these places. */
function split(text: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
  return at.slice(1).map((end, index) => text.subarray(at[index], end));
}

/** Masked in one piece, in two at every place, and byte by byte: always the same. */
async function maskedHoweverSplit(value: string | Uint8Array, text: string | Buffer): Promise<string> {
  const searches = await searchesFor(value);
  const bytes = Buffer.from(text as string);
  const whole = masked(searches, bytes);
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const inTwo = masked(searches, ...split(bytes, [cut]));
    if (inTwo !== whole) throw new Error(`split at ${cut}: ${inTwo}`);
  }
  expect(masked(searches, ...split(bytes, [...bytes.keys()]))).toBe(whole);
  return whole;
}

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

/** Every byte that an encoder might treat as special, and letters outside ASCII. */
const VALUE = 'p@ss "w\\ord\'/?&=+<x>\t$`~#%é\u20ac\u{1f511}!\nline *two* of it';
const pythonJson = (text: string): string =>
  JSON.stringify(text).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
const strictPercent = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
const inLowerCase = (encoded: string): string => encoded.replace(/%../g, (code) => code.toLowerCase());

describe('a value that was encoded', () => {
  it.each([
    ['JSON', JSON.stringify(VALUE).slice(1, -1)],
    ['JSON in ASCII', pythonJson(VALUE).slice(1, -1)],
    ['JSON with escaped slashes', JSON.stringify(VALUE).slice(1, -1).replaceAll('/', '\\/')],
    ['JSON in ASCII with escaped slashes', pythonJson(VALUE).slice(1, -1).replaceAll('/', '\\/')],
    [
      'JSON for HTML',
      JSON.stringify(VALUE)
        .slice(1, -1)
        .replace(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
    ],
    ['a URL component in mixed case', encodeURIComponent(VALUE).replace('%E', '%e')],
    ['XML', VALUE.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')],
    [
      'HTML',
      VALUE.replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&#39;'),
    ],
    [
      'JSON of .NET',
      pythonJson(VALUE)
        .slice(1, -1)
        .replaceAll('\\"', '\\u0022')
        .replace(/[<>&'+`]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`)
        .replace(/\\u[\da-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`),
    ],
    ['a URL component', encodeURIComponent(VALUE)],
    ['a URL component in lower case', inLowerCase(encodeURIComponent(VALUE))],
    ['a strict URL component', strictPercent(VALUE)],
    ['a URL path', strictPercent(VALUE).replaceAll('%2F', '/')],
    ['a form', new URLSearchParams({ v: VALUE }).toString().slice(2)],
    ['a strict form', strictPercent(VALUE).replaceAll('%20', '+')],
    ['hexadecimal', Buffer.from(VALUE).toString('hex')],
    ['hexadecimal in upper case', Buffer.from(VALUE).toString('hex').toUpperCase()],
    ['hexadecimal in lines', Buffer.from(VALUE).toString('hex').replace(/.{60}/g, '$&\n')],
    ["'…' of a shell", VALUE.replaceAll(`'`, `'\\''`)],
    [`'…' of another shell`, VALUE.replaceAll(`'`, `'"'"'`)],
    ['"…" of a shell', VALUE.replace(/[\\"$`]/g, '\\$&')],
    ["$'…' of a shell", VALUE.replace(/['\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t')],
    [
      "$'…' of a shell in a locale of bytes",
      Buffer.from(VALUE.replace(/['\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t'))
        .toString('latin1')
        .replace(/[\x80-\xff]/g, (byte) => `\\${byte.charCodeAt(0).toString(8)}`),
    ],
  ])('is hidden as %s, wherever the output is split', async (_name, encoded) => {
    expect(await maskedHoweverSplit(VALUE, Buffer.from(`. ${encoded} .`))).toBe('. *** .');
  });

  it('is hidden as a shell escapes words', async () => {
    expect(await maskedHoweverSplit('a b$c;(d)', '. a\\ b\\$c\\;\\(d\\) .')).toBe('. *** .');
  });

  it('is hidden without the space around it', async () => {
    expect(masked(await searchesFor('  padded secret \n'), '. padded secret .')).toBe('. *** .');
  });

  it('is hidden line by line', async () => {
    const lines = 'first "line"\nsecond "line"';
    expect(masked(await searchesFor(lines), '. first \\"line\\" .')).toBe('. *** .');
    expect(masked(await searchesFor(lines), `. ${Buffer.from('second "line"').toString('base64')} .`)).toBe(
      '. *** .',
    );
  });

  const WRAPS = [0, 60, 64, 76];
  const wrapped = (text: string, width: number, lineEnd: string): string =>
    width === 0 ? text : text.replace(new RegExp(`.{${width}}`, 'g'), `$&${lineEnd}`);

  it('is hidden in base64 wherever it stands in the text, wrapped at any width, with every bit of it', async () => {
    const bytes = fc.uint8Array({ minLength: 0, maxLength: 90 }).map((array) => Buffer.from(array));
    const secrets = fc.uint8Array({ minLength: MIN_BYTES, maxLength: 70 }).map((array) => Buffer.from(array));
    const cuts = fc.array(fc.nat(400), { maxLength: 6 });
    const alphabets = fc.constantFrom('base64' as const, 'base64url' as const);
    const width = fc.constantFrom(...WRAPS);
    const lineEnds = fc.constantFrom('\n', '\r\n');
    await fc.assert(
      fc.asyncProperty(
        bytes,
        secrets,
        bytes,
        alphabets,
        width,
        lineEnds,
        cuts,
        async (before, secret, after, ...how) => {
          const [alphabet, columns, lineEnd, at] = how;
          const encoded = Buffer.concat([before, secret, after]).toString(alphabet);
          const first = Math.floor((8 * before.length) / 6);
          const last = Math.ceil((8 * (before.length + secret.length)) / 6);
          const wrap = (text: string): string => wrapped(text, columns, lineEnd);
          const text = `. ${wrap(encoded)} .`;
          // Marked before it is wrapped: what has a bit of the secret goes, with the line ends inside it.
          const marked = Array.from(encoded, (character, index) =>
            index >= first && index < last ? '\u0000' : character,
          );
          if (after.length === 0) marked.fill('\u0000', last);
          const expected = `. ${wrap(marked.join(''))} .`.replace(/\u0000[\u0000\r\n]*\u0000|\u0000/g, '***');
          expect(masked(await searchesFor(secret), ...split(Buffer.from(text), at))).toBe(expected);
        },
      ),
      { numRuns: 600 },
    );
  });

  it('is hidden as hexadecimal, wherever the output is split', async () => {
    const secrets = fc.uint8Array({ minLength: MIN_BYTES, maxLength: 70 });
    await fc.assert(
      fc.asyncProperty(
        secrets,
        fc.array(fc.nat(150), { maxLength: 6 }),
        fc.boolean(),
        async (secret, cuts, isUpper) => {
          const hex = Buffer.from(secret).toString('hex');
          const text = Buffer.from(`. ${isUpper ? hex.toUpperCase() : hex} .`);
          expect(masked(await searchesFor(secret), ...split(text, cuts))).toBe('. *** .');
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** A delivery of four values, as large as it may be. */
const largest = (piece: (index: number) => string): Buffer[] =>
  [0, 1, 2, 3].map((value) => {
    let text = '';
    for (let index = 0; text.length < 16 * 1024; index += 1) text += `${value}${piece(index)}`;
    return Buffer.from(text).subarray(0, 16 * 1024);
  });

describe('the searches for the largest delivery', () => {
  const SPECIAL = `/<"' *é&+~`;

  it.each([
    ['letters outside ASCII', () => '\u20ac\u{1f511}\\'],
    ['all that shells quote', () => '"\'/\\ é<\t'],
    ['short lines', (index: number) => `${SPECIAL}${index}${'\u0001'.repeat(60)}\n`],
    ['long lines', (index: number) => `${SPECIAL}${index}${'\u0001'.repeat(1000)}\n`],
    ['the longest lines', (index: number) => `${SPECIAL}${index}${'\u0001'.repeat(8000)}\n`],
  ])(
    'take at most 32 MiB with %s, and find each value, also in base64 and hexadecimal',
    async (_of, piece) => {
      const secrets = largest(piece);
      const searches = await searchesFor(...secrets);
      const { asItIs, unbroken } = searches;
      const bytes = [...asItIs, ...unbroken].reduce((sum, { byteLength }) => sum + byteLength, 0);
      expect(bytes).toBeLessThan(32 * 1024 * 1024);
      for (const encoding of ['latin1', 'base64', 'hex'] as const) {
        const text = Buffer.concat(secrets.map((secret) => Buffer.from(secret.toString(encoding), 'latin1')));
        expect(masked(searches, '. ', text, ' .')).toMatch(/^\. \*\*\*(=*\*\*\*)* \.$/);
      }
    },
  );

  it('are made while others have their turn', async () => {
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    const values = patternsOf(...largest(() => 'aZ09+/"xyzzy é\n'));
    setImmediate(turn);
    const searches = await values.prepare();
    isOver = true;
    expect(turns).toBeGreaterThan(10);
    expect(masked(searches, largest(() => 'aZ09+/"xyzzy é\n')[2] ?? '')).toBe('***');
  });
});
