import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { patternsOf, type Needle } from './needles.js';
import { Search } from './search.js';
import { TaskOutput } from './task-output.js';

const MiB = 1024 * 1024;
const name: Needle = { label: 'name', kind: 'name', bytes: Buffer.from('API_TOKEN') };
const value: Needle = { label: 'value', kind: 'value', bytes: Buffer.from('s3cr"et\nsecond-line') };
const patterns = patternsOf([name, value]);

describe('the search', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'valise-search-spec-'));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  it('finds a needle wherever it lies across the pieces that a file is read in', async () => {
    for (const at of [0, 1, MiB - 5, MiB, MiB + 60, 2 * MiB - 20, 3 * MiB - value.bytes.length]) {
      const content = Buffer.alloc(3 * MiB, 'x');
      value.bytes.copy(content, at);
      writeFileSync(join(directory, 'file'), content);
      const search = new Search(patterns);
      await search.tree(directory);
      const whole = search.sightings.find(({ pattern }) => pattern.part === 'whole');
      expect(whole).toMatchObject({ offset: at, place: join(directory, 'file') });
      expect(search.searchedBytes).toBe(3 * MiB);
    }
  });

  it('reads hidden files and every directory, leaves out what it is told to, and follows no link', async () => {
    mkdirSync(join(directory, 'a', '.b'), { recursive: true });
    mkdirSync(join(directory, 'mounted'));
    writeFileSync(join(directory, 'a', '.b', '.c'), 'API_TOKEN');
    writeFileSync(join(directory, 'mounted', 'd'), 'API_TOKEN');
    symlinkSync(join(directory, 'mounted', 'd'), join(directory, 'link'));
    const search = new Search(patterns);
    await search.tree(directory, [join(directory, 'mounted')]);
    expect(search.sightings.map(({ place }) => place)).toEqual([join(directory, 'a', '.b', '.c')]);
  });

  it('sees the same 3,000 needles that a plain search sees', async () => {
    const many = Array.from({ length: 3000 }, (_, index): Needle => {
      return { label: String(index), kind: 'value', bytes: Buffer.from(`needle-${index * 7919}-`) };
    });
    const planted = many.filter((_, index) => index % 97 === 0);
    writeFileSync(join(directory, 'file'), planted.map(({ bytes }) => bytes.toString('hex')).join('\0'));
    const search = new Search(patternsOf(many));
    await search.tree(directory);
    expect(new Set([...search.seenPatterns].map(({ needle }) => needle))).toEqual(new Set(planted));
  });
});

describe('what the task printed', () => {
  const log = Buffer.from('PATH=/bin\nAPI_TOKEN=[masked]\nHOME=/\n');
  const output = new TaskOutput(log, patterns);
  const seen = (text: string): number => {
    const search = new Search(patterns, output);
    search.bytes(Buffer.from(text), 'place');
    return search.sightings.length;
  };

  it('is counted', () => {
    expect(output.count('name')).toBe(1);
    expect(output.count('value')).toBe(0);
  });

  it('explains a name that is stored as it was printed, also where storage cut the text', () => {
    expect(seen(`\0\0${log.toString()}\0\0`)).toBe(0);
    expect(seen(`\0\0API_TOKEN=[masked]`)).toBe(0);
    expect(seen(`=/bin\nAPI_TOKEN\0\0`)).toBe(1);
    expect(seen(`TH=/bin\nAPI_TOKEN\0\0`)).toBe(0);
  });

  it('does not explain the same name elsewhere', () => {
    expect(seen('{"name":"API_TOKEN","value":""}')).toBe(1);
  });

  it('never explains a value', () => {
    const printed = new TaskOutput(Buffer.from('TOKEN=s3cr"et\nsecond-line\n'), patterns);
    const search = new Search(patterns, printed);
    search.bytes(Buffer.from('TOKEN=s3cr"et\nsecond-line\n'), 'place');
    expect(search.sightings.length).toBeGreaterThan(0);
    expect(printed.count('value')).toBe(1);
  });
});
