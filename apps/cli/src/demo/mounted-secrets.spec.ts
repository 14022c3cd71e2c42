import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  parseEnvironmentBundle,
  parseSecretReference,
  projectionFileName,
} from '@valise/contracts/documents';
import { mountSecrets } from './mounted-secrets.js';

describe('the mounted secrets', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'valise-mount-spec-'));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  it('are one file each, named after the pinned reference, readable by the owner alone, byte for byte', () => {
    const entries = [
      { name: 'B', value: 'x\n' },
      { name: 'A', value: '' },
    ];
    const { environmentBundleRef, bindings } = mountSecrets(directory, 'p', {
      entries,
      secrets: [{ name: 'T', value: Buffer.from('v\n') }],
    });
    const bundle = readFileSync(join(directory, projectionFileName(environmentBundleRef!)), 'utf8');
    expect(parseEnvironmentBundle(bundle).entries).toEqual([...entries].reverse());
    expect(parseSecretReference(environmentBundleRef)).toMatchObject({ projectId: 'p', version: 1 });
    expect(readFileSync(join(directory, projectionFileName(bindings[0]!.secretRef)), 'utf8')).toBe('v\n');
    for (const file of readdirSync(directory))
      expect(statSync(join(directory, file)).mode & 0o777).toBe(0o400);
  });

  it('without a bundle have no reference to one', () => {
    expect(mountSecrets(directory, 'p', { entries: [], secrets: [] })).toEqual({
      environmentBundleRef: null,
      bindings: [],
    });
  });
});
