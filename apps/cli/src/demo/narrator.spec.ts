import { PassThrough } from 'node:stream';
import { Narrator } from './narrator.js';

describe('what the narrator quotes', () => {
  it('steers no terminal: escape sequences, bells and hidden characters are spelled out', () => {
    const out = new PassThrough();
    const narrator = new Narrator(out, true, new AbortController().signal);
    narrator.quote('\u001b]0;title\u0007\u001b[2Jred\r\u009b31m\u202e\u007f\tGrüße 你好\nsecond');
    expect(String(out.read())).toBe(
      [
        String.raw`             | \x1b]0;title\x07\x1b[2Jred\x0d\x9b31m\u{202e}\x7f` + '\tGrüße 你好',
        '             | second',
        '',
      ].join('\n'),
    );
  });
});
