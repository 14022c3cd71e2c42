import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Refusal } from '../refusal.js';
import { needlesOf, readTaskInput, type SecretOption } from './task-input.js';

describe('the input of the demo', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'valise-input-spec-'));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  const file = (content: string | Buffer): string => {
    const path = join(directory, String(Math.random()));
    writeFileSync(path, content);
    return path;
  };
  const refusal = (text: string, ...secrets: SecretOption[]): Refusal => {
    try {
      readTaskInput(file(text), secrets);
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
    throw new Error('accepted');
  };

  it('is a built-in sample when nothing is given', () => {
    const { entries, secrets } = readTaskInput(null, []);
    expect(entries.length).toBeGreaterThan(10);
    expect(secrets).toHaveLength(1);
  });

  it('takes the bytes of a secret’s file as they are', () => {
    const { secrets } = readTaskInput(file('A=1'), [{ name: 'T', file: file(' v\r\n') }]);
    expect(secrets).toEqual([{ name: 'T', value: Buffer.from(' v\r\n') }]);
  });

  it('hides every name of the bundle, every value, and no empty one', () => {
    const input = readTaskInput(file('A_NAME=a-value\nEMPTY='), [{ name: 'TOKEN', file: file('t-value') }]);
    expect(needlesOf(input).map(({ kind, bytes }) => [kind, bytes.toString()])).toEqual([
      ['name', 'A_NAME'],
      ['value', 'a-value'],
      ['name', 'EMPTY'],
      ['value', 't-value'],
    ]);
  });

  it.each([
    ['a bundle without entries', '# nothing', []],
    ['a name of the loader', 'A=1\nLD_PRELOAD=hunter2', []],
    ['a name that the worker sets', 'HOME=hunter2', []],
    ['a secret that is no text', 'A=1', [['T', Buffer.from([0xff])]]],
    ['a secret with a NUL', 'A=1', [['T', 'hunter2\0']]],
    ['a secret over 16 KiB', 'A=1', [['T', 'hunter2'.repeat(2400)]]],
    ['a secret of a refused name', 'A=1', [['NODE_OPTIONS', 'hunter2']]],
    ['a secret whose name is none', 'A=1', [['1T', 'hunter2']]],
    ['a secret that the bundle names too', 'A=1', [['A', 'hunter2']]],
    [
      'a secret given twice',
      'A=1',
      [
        ['T', 'hunter2'],
        ['T', 'hunter2'],
      ],
    ],
    ['more than 64 KiB together', 'A=1', ['T', 'U', 'V', 'W'].map((name) => [name, 'x'.repeat(16_384)])],
  ] as [string, string, [string, string | Buffer][]][])(
    'with %s is refused, without a value',
    (_what, text, secrets) => {
      const error = refusal(text, ...secrets.map(([name, content]) => ({ name, file: file(content) })));
      expect(error.exitCode).toBe(2);
      expect(error.message).not.toContain('hunter2');
    },
  );
});
