import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forbidCoreFiles, warnOfSwap } from './own-process.js';

const HEADER = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';

let directory: string;
let warnings: string[];
const warn = (event: string): void => void warnings.push(event);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'valise-own-process-'));
  warnings = [];
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

describe('a program’s own process', () => {
  it('leaves no core file and puts no memory into a core', () => {
    const filter = join(directory, 'coredump_filter');
    forbidCoreFiles(warn, 'prlimit', filter);
    expect(warnings).toEqual([]);
    expect(readFileSync('/proc/self/limits', 'latin1')).toMatch(/^Max core file size\s+0\s+0/m);
    expect(readFileSync(filter, 'latin1')).toBe('0');
  });

  it.each(['/no/such/prlimit', '/bin/false'])('says so when %s does not take core files away', (prlimit) => {
    forbidCoreFiles(warn, prlimit, join(directory, 'no', 'such', 'filter'));
    expect(warnings).toEqual(['core_limit_not_set', 'coredump_filter_not_set']);
  });

  it('says so when the machine swaps', () => {
    const swaps = join(directory, 'swaps');
    writeFileSync(swaps, HEADER);
    warnOfSwap(warn, swaps);
    expect(warnings).toEqual([]);
    writeFileSync(swaps, `${HEADER}/dev/sda2 partition\t\t1000\t\t0\t\t-2\n`);
    warnOfSwap(warn, swaps);
    expect(warnings).toEqual(['swap_in_use']);
  });
});
