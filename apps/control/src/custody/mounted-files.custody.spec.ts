import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecretReference, projectionFileName } from '@valise/contracts/documents';
import { MountedFilesCustody } from './mounted-files.custody.js';
import { ProjectedFile } from './projected-file.js';
import { readProjections } from './projection.js';
import { ReadGate } from './read-gate.js';
import { CustodyError, type SecretMaterial } from './secret-custody.js';

const token = createSecretReference({ projectId: 'p', name: 'token', version: 1 });
const bundle = createSecretReference({ projectId: 'p', name: 'env', version: 1 });
const asRoot = process.getuid?.() === 0;
const NOBODY = 65534;

let root: string;
let custody: MountedFilesCustody;
let swapper: ChildProcess | undefined;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'valise-custody-'));
  custody = custodyOf(root);
});

afterEach(async () => {
  jest.restoreAllMocks();
  if (swapper?.connected) {
    swapper.kill();
    await once(swapper, 'exit');
  }
  rmSync(root, { recursive: true });
});

/** Reads as the threads do, in this one: jest has no built file for a thread. */
const custodyOf = (directory: string): MountedFilesCustody =>
  new MountedFilesCustody(
    (projections) =>
      new Promise((resolve) => {
        resolve(readProjections(directory, projections));
      }),
    new ReadGate(3),
  );
const pathOf = (reference: string, directory = root): string =>
  join(directory, projectionFileName(reference));
const lay = (reference: string, content: string | Buffer, directory = root): void => {
  writeFileSync(pathOf(reference, directory), content, { mode: 0o400 });
};
const resolve = (deadlineMs = 5000): Promise<SecretMaterial> =>
  custody.resolve({ secretRefs: [token], environmentBundleRefs: [bundle] }, performance.now() + deadlineMs);
const faultOf = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => 'resolved',
    (error: unknown) => (error instanceof CustodyError ? error.fault : error),
  );

describe('mounted files', () => {
  it('give the exact bytes, a trailing newline included', async () => {
    lay(token, 'secr3t\n');
    lay(bundle, '{}');
    const material = await resolve();
    expect(material.values.map(({ secretRef, value }) => [secretRef, value.toString()])).toEqual([
      [token, 'secr3t\n'],
    ]);
    expect(material.environmentBundles[0]?.value.toString()).toBe('{}');
  });

  it('give an empty value for an empty file', async () => {
    lay(token, '');
    lay(bundle, '{}');
    expect((await resolve()).values[0]?.value).toHaveLength(0);
  });

  it('are forgotten by whoever received them', async () => {
    lay(token, 'secr3t');
    lay(bundle, '{}');
    const material = await resolve();
    material.forget();
    expect(material.values[0]?.value).toHaveLength(0);
  });

  it('have no negative cache: a secret that appears is found by the next request', async () => {
    lay(bundle, '{}');
    expect(await faultOf(resolve())).toBe('missing');
    lay(token, 'now');
    expect((await resolve()).values[0]?.value.toString()).toBe('now');
  });

  it('never answer another version of a secret', async () => {
    lay(bundle, '{}');
    lay(createSecretReference({ projectId: 'p', name: 'token', version: 2 }), 'newer');
    expect(await faultOf(resolve())).toBe('missing');
  });

  it('may use 96 KiB for the bundle and 16 KiB for a secret, and not one byte more', async () => {
    lay(token, Buffer.alloc(16 * 1024, 'a'));
    lay(bundle, Buffer.alloc(96 * 1024, 'a'));
    await expect(resolve()).resolves.toBeDefined();
    rmSync(pathOf(token));
    lay(token, Buffer.alloc(16 * 1024 + 1, 'a'));
    expect(await faultOf(resolve())).toBe('too_large');
    rmSync(pathOf(token));
    lay(token, 'a');
    rmSync(pathOf(bundle));
    lay(bundle, Buffer.alloc(96 * 1024 + 1, 'a'));
    expect(await faultOf(resolve())).toBe('too_large');
  });

  it.each([
    ['for others', 0o404, 'over_permissive'],
    ['for all', 0o444, 'over_permissive'],
    ['for the group to write', 0o420, 'over_permissive'],
    ['to execute', 0o500, 'over_permissive'],
  ])('are refused with a mode %s', async (_, mode, fault) => {
    lay(bundle, '{}');
    lay(token, 'x');
    chmodSync(pathOf(token), mode);
    expect(await faultOf(resolve())).toBe(fault);
  });

  it('may be read by a group of this process, and by no other group', async () => {
    lay(bundle, '{}');
    lay(token, 'x');
    chmodSync(pathOf(token), 0o440);
    await expect(resolve()).resolves.toBeDefined();
    if (!asRoot) return;
    chownSync(pathOf(token), 0, 54321);
    expect(await faultOf(resolve())).toBe('over_permissive');
  });

  it('are refused when they are a directory, a FIFO or linked twice', async () => {
    lay(bundle, '{}');
    mkdirSync(pathOf(token));
    expect(await faultOf(resolve())).toBe('not_a_file');
    rmSync(pathOf(token), { recursive: true });
    execFileSync('mkfifo', ['-m', '400', pathOf(token)]);
    expect(await faultOf(resolve())).toBe('not_a_file');
    rmSync(pathOf(token));
    lay(token, 'x');
    linkSync(pathOf(token), join(root, 'twice'));
    expect(await faultOf(resolve())).toBe('not_a_file');
  });

  it('are refused when they hold a gibibyte, and none of it is read', async () => {
    lay(bundle, '{}');
    lay(token, '');
    truncateSync(pathOf(token), 1024 ** 3);
    const reads = jest.spyOn(ProjectedFile.prototype, 'read');
    expect(await faultOf(resolve())).toBe('too_large');
    expect(reads).not.toHaveBeenCalled();
  });

  it('are not called missing when this process may not read them', async () => {
    // Root may read everything.
    if (!asRoot) return;
    chmodSync(root, 0o711);
    lay(bundle, '{}');
    chownSync(pathOf(bundle), NOBODY, NOBODY);
    lay(token, 'x');
    process.seteuid!(NOBODY);
    const attempt = resolve();
    process.seteuid!(0);
    expect(await faultOf(attempt)).toBe('unreadable');
  });

  it('are refused when a link leads out of the root', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'valise-outside-'));
    writeFileSync(join(outside, 'x'), 'x', { mode: 0o400 });
    lay(bundle, '{}');
    symlinkSync(join(outside, 'x'), pathOf(token));
    expect(await faultOf(resolve())).toBe('outside_root');
    rmSync(outside, { recursive: true });
  });

  it('are never a torn pair nor falsely missing while the projection is swapped without pause', async () => {
    const generation = (number: number): string => {
      const directory = join(root, `..${number}`);
      mkdirSync(directory);
      lay(token, `secret ${number}`, directory);
      lay(bundle, `bundle ${number}`, directory);
      return `..${number}`;
    };
    symlinkSync(generation(0), join(root, '..data'));
    for (const reference of [token, bundle])
      symlinkSync(join('..data', projectionFileName(reference)), pathOf(reference));
    const script = `
      const { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
      const { join } = require('node:path');
      const [root, token, bundle] = process.argv.slice(2);
      process.on('disconnect', () => process.exit());
      const swap = (number) => {
        const name = '..' + number;
        mkdirSync(join(root, name));
        writeFileSync(join(root, name, token), 'secret ' + number, { mode: 0o400 });
        writeFileSync(join(root, name, bundle), 'bundle ' + number, { mode: 0o400 });
        symlinkSync(name, join(root, '..data_tmp'));
        renameSync(join(root, '..data_tmp'), join(root, '..data'));
        rmSync(join(root, '..' + (number - 1)), { recursive: true, force: true });
        setTimeout(swap, 1, number + 1);
      };
      swap(1);
      process.send('swapping');`;
    const file = join(root, '..swapper.cjs');
    writeFileSync(file, script);
    swapper = fork(file, [root, projectionFileName(token), projectionFileName(bundle)]);
    await once(swapper, 'message');
    const seen = new Set<string>();
    for (let count = 0; count < 50; count += 1) {
      const { values, environmentBundles } = await resolve();
      const pair = [values[0]?.value.toString(), environmentBundles[0]?.value.toString()];
      seen.add(String(pair[0]));
      expect(String(pair[0]).replace('secret', 'bundle')).toBe(pair[1]);
    }
    expect(seen.size).toBeGreaterThan(1);
  });

  it('are reported as unavailable when the root is not there', async () => {
    custody = custodyOf(join(root, 'nowhere'));
    expect(await faultOf(resolve())).toBe('root_unavailable');
  });
});

describe('a projection that is replaced', () => {
  it('is read as it is now, by every request', async () => {
    lay(bundle, '{}');
    lay(token, 'first');
    expect((await resolve()).values[0]?.value.toString()).toBe('first');
    writeFileSync(join(root, 'next'), 'second', { mode: 0o400 });
    renameSync(join(root, 'next'), pathOf(token));
    expect((await resolve()).values[0]?.value.toString()).toBe('second');
  });
});
