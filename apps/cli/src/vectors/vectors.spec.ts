import { readdirSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runVectors } from './index.js';

const FOLDER = join(__dirname, '../../../../test/vectors');

function run(...files: string[]): { code: number; lines: string[] } {
  const lines: string[] = [];
  const code = runVectors(files, (line) => lines.push(line));
  return { code, lines };
}

describe('the vectors of wire.md', () => {
  it.each(readdirSync(FOLDER))('%s pass unchanged', (file) => {
    const { code, lines } = run(join(FOLDER, file));
    expect(lines.filter((line) => line.startsWith('FAILED'))).toEqual([]);
    expect(code).toBe(0);
    expect(lines.at(-1)).toMatch(/^\d+ passed, 0 failed$/);
  });
});

describe('a vector run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'vectors-'));
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  const file = (cases: unknown): string => {
    const path = join(folder, 'cases.json');
    writeFileSync(path, JSON.stringify(cases));
    return path;
  };

  it.each([
    ['an unknown kind', { id: 'x#1', kind: 'toString', input: 1, expected: 1 }, 'FAILED x#1: unknown kind'],
    [
      'another value',
      { id: 'x#2', kind: 'collation.sort', input: ['b', 'a'], expected: ['b', 'a'] },
      'FAILED x#2: expected ["b","a"], actual ["a","b"]',
    ],
    [
      'a value where a refusal is expected',
      { id: 'x#3', kind: 'collation.sort', input: [], expected: { error: '*' } },
      'FAILED x#3: expected {"error":"*"}, actual []',
    ],
    [
      'another code',
      { id: 'x#4', kind: 'projectionFileName', input: 'x', expected: { error: 'TRIGGER_INVALID' } },
      'FAILED x#4: expected {"error":"TRIGGER_INVALID"}, actual error SECRET_REFERENCE_INVALID',
    ],
  ])('fails on %s and names it', (_, vector, line) => {
    const { code, lines } = run(file([vector]));
    expect(code).toBe(1);
    expect(lines[0]).toBe(line);
    expect(lines.at(-1)).toBe('0 passed, 1 failed');
  });

  it('fails on a refusal that is not typed', () => {
    const { code, lines } = run(
      file([{ id: 'x#5', kind: 'collation.sort', input: 1, expected: { error: '*' } }]),
    );
    expect(code).toBe(1);
    expect(lines[0]).toContain('no typed refusal');
  });

  it.each(['{}', '[1]', 'not JSON'])('fails on a file that is no list of cases: %s', (text) => {
    const path = join(folder, 'damaged.json');
    writeFileSync(path, text);
    expect(run(path).code).toBe(1);
  });

  it('fails on a missing file, and when nothing was run', () => {
    expect(run(join(folder, 'missing.json')).code).toBe(1);
    expect(run().code).toBe(1);
  });
});
