import * as fc from 'fast-check';
import { masked, maskedHoweverSplit, patternsOf, searchesFor, split } from '../../spec/masking.js';

const MIN_BYTES = 6;

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
