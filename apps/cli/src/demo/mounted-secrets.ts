import { createHash } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createSecretReference,
  projectionFileName,
  writeEnvironmentBundle,
  type EnvironmentEntry,
} from '@valise/contracts/documents';

/** An ordinary secret: one file's bytes for one variable. */
export interface OrdinarySecret {
  readonly name: string;
  readonly value: Buffer;
}

/** What a task definition may say of its secrets: references, and nothing of what they lead to. */
export interface SecretReferences {
  /** Null when there are no bundle entries. */
  readonly environmentBundleRef: string | null;
  readonly bindings: readonly {
    readonly name: string;
    readonly kind: 'secret';
    readonly secretRef: string;
  }[];
}

/**
 * Lays the canonical bundle and the ordinary secrets into `directory`, each under its projection name and readable by
 * its owner only: the files a Kubernetes volume or a CSI driver would mount.
 */
export function mountSecrets(
  directory: string,
  projectId: string,
  material: { readonly entries: readonly EnvironmentEntry[]; readonly secrets: readonly OrdinarySecret[] },
): SecretReferences {
  const entries = material.entries.map(({ name, value }) => ({ name, value }));
  const mount = (name: string, content: string | Buffer): string => {
    const reference = createSecretReference({ projectId, name, version: 1 });
    const path = join(directory, projectionFileName(reference));
    writeFileSync(path, content, { mode: 0o400, flag: 'wx' });
    chmodSync(path, 0o400);
    return reference;
  };
  return {
    environmentBundleRef: entries.length === 0 ? null : mount('environment', writeEnvironmentBundle(entries)),
    // The reference is public, so it must not be the variable's name.
    bindings: material.secrets.map(({ name, value }, index) => ({
      name,
      kind: 'secret',
      secretRef: mount(`secret-${index + 1}`, value),
    })),
  };
}

/** SHA-256 over `NAME=value` lines in byte order, a line feed inside a value written as \x01: what the task prints. */
export function environmentDigest(entries: readonly { name: string; value: Buffer }[]): string {
  const lines = entries
    .map(({ name, value }) => Buffer.concat([Buffer.from(`${name}=`), value]))
    .map((line) => Buffer.from(line.map((byte) => (byte === 0x0a ? 0x01 : byte))))
    .sort((a, b) => Buffer.compare(a, b));
  const hash = createHash('sha256');
  for (const line of lines) hash.update(line).update('\n');
  return hash.digest('hex');
}
