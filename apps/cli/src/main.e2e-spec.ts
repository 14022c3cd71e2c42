import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createSecretReference, writeEnvironmentBundle } from '@valise/contracts/documents';

const MAIN = resolve(__dirname, '../../../dist/cli/apps/cli/src/main.js');

describe('the command line', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'valise-cli-spec-'));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  const valise = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, ['--', MAIN, ...args], { encoding: 'utf8', cwd: directory });

  it('packs a dotenv file into the canonical bundle, into a new private file', () => {
    writeFileSync(join(directory, 'env'), 'B=2\nA="hunter2-value"\n');
    expect(valise('bundle', 'pack', 'env', '--output', 'bundle').status).toBe(0);
    expect(readFileSync(join(directory, 'bundle'), 'utf8')).toBe(
      writeEnvironmentBundle([
        { name: 'A', value: 'hunter2-value' },
        { name: 'B', value: '2' },
      ]),
    );
    expect(statSync(join(directory, 'bundle')).mode & 0o777).toBe(0o600);
    expect(valise('bundle', 'pack', 'env', '--output', 'bundle').status).toBe(2);
  });

  it('checks a dotenv file and a bundle alike, with counts and without a value', () => {
    writeFileSync(join(directory, 'env'), 'A="hunter2-value\n"\nB=abc\n');
    writeFileSync(join(directory, 'bundle'), valise('bundle', 'pack', 'env').stdout);
    for (const file of ['env', 'bundle']) {
      const { status, stderr } = valise('bundle', 'check', file);
      expect(status).toBe(0);
      expect(stderr).toContain('2 entries, 19 bytes of names and values');
      expect(stderr).toContain('ends with a line break');
      expect(stderr).toContain('too short to be masked');
      expect(stderr).not.toContain('hunter2');
    }
  });

  it('packs nothing when a rule is broken, and names every one', () => {
    writeFileSync(join(directory, 'env'), `LD_PRELOAD=x\nBIG=${'hunter2'.repeat(3000)}\n`);
    const { status, stdout, stderr } = valise('bundle', 'pack', 'env');
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('line 1: the name is refused, class loader');
    expect(stderr).toContain('line 2: the value: 21000 bytes, and at most 16384 are allowed');
    expect(stderr).not.toContain('hunter2');
  });

  it('writes references', () => {
    expect(valise('ref', 'create', 'p', 'n', '3').stdout.trim()).toBe(
      createSecretReference({ projectId: 'p', name: 'n', version: 3 }),
    );
    expect(valise('ref', 'create', 'p', 'n', '0').status).toBe(2);
    expect(valise('ref', 'create', '', 'n').status).toBe(2);
  });

  it('refuses an unknown command', () => {
    expect(valise('unknown').status).toBe(2);
  });
});
