import { refusedNameClass, writeEnvironmentBundle } from '@valise/contracts/documents';
import { inspectBundle, type BundleReport, type PlacedEntry } from './bundle-report.js';

const entries = (...pairs: [string, string][]): PlacedEntry[] =>
  pairs.map(([name, value], index) => ({ name, value, place: `line ${index + 1}` }));
const inspect = (...pairs: [string, string][]): BundleReport => inspectBundle(entries(...pairs));
const many = (count: number, value: string): [string, string][] =>
  Array.from({ length: count }, (_, index) => [`N${String(index).padStart(3, '0')}`, value]);

describe('the report on a bundle', () => {
  it('counts what the carrier really has', () => {
    const pairs: [string, string][] = [
      ['A', 'x\n"€"'],
      ['B', ''],
    ];
    const carrier = writeEnvironmentBundle(pairs.map(([name, value]) => ({ name, value })));
    const report = inspect(...pairs);
    expect(report.carrierBytes).toBe(Buffer.byteLength(carrier));
    expect(report.totalBytes).toBe(9);
    expect(report.largestString).toEqual({ place: 'line 1', bytes: 10 });
    expect(report.problems).toEqual([]);
  });

  it('agrees with the bundle’s own parser on every limit, one below, at and one above', () => {
    const cases: [string, string][][] = [
      ...[16_383, 16_384, 16_385].map((bytes): [string, string][] => [['A', 'x'.repeat(bytes)]]),
      ...[255, 256, 257].map((count) => many(count, 'x')),
      ...[16_379, 16_380, 16_381].map((bytes): [string, string][] => [
        ...many(3, 'x'.repeat(16_380)),
        ['LAST', 'x'.repeat(bytes)],
      ]),
      [['A', '€'.repeat(5_461)]],
      [['A', '€'.repeat(5_462)]],
      many(4, '\n'.repeat(12_000)),
      many(4, '\n'.repeat(16_000)),
      [['1bad', 'x']],
      [['QL3_X', 'x']],
      [['A'.repeat(128), 'x']],
      [['A'.repeat(129), 'x']],
      [['A', 'a\0b']],
      [['A', 'a\ud800b']],
      [
        ['A', '1'],
        ['A', '2'],
      ],
      [],
    ];
    for (const pairs of cases) {
      let accepted = true;
      try {
        writeEnvironmentBundle(pairs.map(([name, value]) => ({ name, value })));
      } catch {
        accepted = false;
      }
      expect(inspect(...pairs).problems.length === 0).toBe(accepted);
    }
  });

  it('says which budget fails, with counts, and at which entry', () => {
    expect(inspect(...many(4, '\n'.repeat(16_000))).problems).toEqual([
      {
        place: 'line 4',
        rule: 'from here on the carrier (JSON, escaping included): 128163 bytes, and at most 98304 are allowed',
      },
    ]);
    expect(inspect(...many(4, '\n'.repeat(16_000)))).toMatchObject({
      totalBytes: 64_016,
      carrierBytes: 128_163,
      escapingBytes: 64_000,
    });
    expect(inspect(['A', 'x'.repeat(16_385)]).problems).toEqual([
      { place: 'line 1', rule: 'the value: 16385 bytes, and at most 16384 are allowed' },
    ]);
  });

  it('names the class of every refused name, and where each class stands', () => {
    const names = ['LD_PRELOAD', 'NODE_OPTIONS', 'FINE', 'BASH_ENV', 'PYTHONSTARTUP', 'GIT_SSH_COMMAND'];
    const report = inspect(...names.map((name): [string, string] => [name, 'x1234567']));
    expect(report.problems.map(({ place, rule }) => [place, /class (\w+)/.exec(rule)?.[1]])).toEqual([
      ['line 1', 'loader'],
      ['line 2', 'interpreter'],
      ['line 4', 'shell'],
      ['line 5', 'interpreter'],
      ['line 6', refusedNameClass('GIT_SSH_COMMAND')],
    ]);
    expect([...report.refusedNames.values()].flat().sort()).toEqual(
      report.problems.map(({ place }) => place),
    );
    expect(report.refusedNames.get('loader')).toEqual(['line 1']);
  });

  it('never trims: what it warns of is packed as it is', () => {
    const value = 'secr3t\n';
    expect(inspect(['A', value]).warnings).toEqual([
      { place: 'line 1', rule: 'the value ends with a line break, and is delivered with it' },
    ]);
    expect(writeEnvironmentBundle([{ name: 'A', value }])).toContain(String.raw`"secr3t\n"`);
  });

  it('warns of a trailing line break and of a value too short to be masked', () => {
    const report = inspect(['A', 'secret-with-newline\n'], ['B', 'abc'], ['C', '']);
    expect(report.warnings.map(({ place }) => place)).toEqual(['line 1', 'line 2']);
  });

  it('never holds a value', () => {
    const report = inspect(['A', 'hunter2-\0'], ['A', 'hunter2-hunter2\n'], ['B', 'hunter2-'.repeat(4000)]);
    expect(report.problems.length).toBeGreaterThan(2);
    expect(JSON.stringify(report)).not.toContain('hunter2');
  });
});
