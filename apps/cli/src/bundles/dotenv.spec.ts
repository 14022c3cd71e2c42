import dotenv from 'dotenv';
import fc from 'fast-check';
import { DotenvError, parseDotenv } from './dotenv.js';

const read = (text: string): Record<string, string> =>
  Object.fromEntries(parseDotenv(Buffer.from(text)).map(({ name, value }) => [name, value]));

const refusal = (text: string | Uint8Array): DotenvError => {
  try {
    parseDotenv(typeof text === 'string' ? Buffer.from(text) : text);
  } catch (error) {
    if (error instanceof DotenvError) return error;
    throw error;
  }
  throw new Error('accepted');
};

describe('a dotenv file', () => {
  it.each([
    ['A=1\nB=two words \n', { A: '1', B: 'two words' }],
    ['export A=1', { A: '1' }],
    ['# only\n\n  # comments\nA= # none', { A: '' }],
    ["A='x # y' # z", { A: 'x # y' }],
    ['A="a\\nb"', { A: 'a\nb' }],
    ["A='a\\nb'", { A: 'a\\nb' }],
    ['A="first\nsecond\n"\nB=`q"\'`', { A: 'first\nsecond\n', B: 'q"\'' }],
    ['A=p$$a$(x)${HOME}', { A: 'p$$a$(x)${HOME}' }],
    ['A=1\r\nB="x\r\ny"\r\n', { A: '1', B: 'x\ny' }],
    ['A=a=b==', { A: 'a=b==' }],
    ['', {}],
  ])('%j is read as npm’s dotenv reads it', (text, expected) => {
    expect(read(text)).toEqual(expected);
    expect(dotenv.parse(text)).toEqual(expected);
  });

  it('that is accepted means what npm’s dotenv makes of it', () => {
    const pieces = [
      'A',
      'B',
      '=',
      ' ',
      '\n',
      '"',
      "'",
      '`',
      '\\',
      '\\n',
      '#',
      'x y',
      '$',
      'export ',
      '\t',
      ':',
      '\r\n',
    ];
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 24 }).map((parts) => parts.join(''));
    let accepted = 0;
    fc.assert(
      fc.property(text, (candidate) => {
        let ours: Record<string, string>;
        try {
          ours = read(`A=${candidate}`);
        } catch {
          return;
        }
        accepted += 1;
        expect(ours).toEqual(dotenv.parse(`A=${candidate}`));
      }),
      { numRuns: 5000, seed: 7 },
    );
    expect(accepted).toBeGreaterThan(500);
  });

  it.each([
    ['A=1\nnot an assignment', 2],
    ['A=1\n\nA=2', 3],
    ['A=1\nB="open\nC=2\n', 2],
    ["A='a'b", 1],
    ['A="one\ntwo" three', 2],
    ['A=pass#word', 1],
    ['A=#ff0000', 1],
    ['\uFEFFA=1', 1],
    ['A=1\nB=\0', 2],
    ['A=1\rB=2', 1],
    ['A:\n', 1],
    ['export A', 1],
  ])('%j is refused, with the line', (text, line) => {
    expect(refusal(text).line).toBe(line);
  });

  it('that is not UTF-8 is refused, with the line', () => {
    expect(refusal(Buffer.from([0x41, 0x3d, 0x31, 0x0a, 0x42, 0x3d, 0x61, 0xff, 0x62])).line).toBe(2);
  });

  it('is never quoted in its refusal', () => {
    for (const text of ['hunter2', 'A="hunter2', "A='x'hunter2", 'A=1#hunter2', 'A=hunter2\nA=hunter2']) {
      const error = refusal(text);
      expect(`${error.message}${error.stack ?? ''}`).not.toContain('hunter2');
    }
  });
});
