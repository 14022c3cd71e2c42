import { readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { projectionFileName } from '@valise/contracts/documents';
import { ProjectedFile } from './projected-file.js';
import type { ReadGate } from './read-gate.js';
import {
  type AuthorisedReferences,
  CustodyError,
  SecretCustody,
  type SecretBytes,
  type SecretMaterial,
} from './secret-custody.js';

const MAX_SECRET_BYTES = 16 * 1024;
const MAX_BUNDLE_BYTES = 96 * 1024;

/** How long to wait, at most, before looking for the generation that replaced the one under our hands. */
const LOOK_AGAIN_MS = 16;

/** Secret material in files below one directory, each named by the digest of its reference (wire.md §1). */
export class MountedFilesCustody extends SecretCustody {
  private readonly groups = new Set([...(process.getgroups?.() ?? []), process.getgid?.() ?? -1]);

  constructor(
    private readonly directory: string,
    private readonly gate: ReadGate,
  ) {
    super();
  }

  async resolve(references: AuthorisedReferences, deadlineAtMs: number): Promise<SecretMaterial> {
    for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, LOOK_AGAIN_MS)) {
      try {
        return await this.gate.run({
          read: () => this.readAll(references),
          deadlineAtMs,
          late: () => new CustodyError('deadline', null),
          discard: (material) => {
            material.wipe();
          },
        });
      } catch (error) {
        const swapped = error instanceof CustodyError && error.fault === 'torn';
        if (!swapped || performance.now() + waitMs >= deadlineAtMs) throw error;
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
  }

  /** Opens every file before it reads any, so that all of them are of one generation. */
  private async readAll(references: AuthorisedReferences): Promise<SecretMaterial> {
    const root = await realpath(this.directory).catch(() => {
      throw new CustodyError('root_unavailable', null);
    });
    const generation = await generationOf(root);
    const files: ProjectedFile[] = [];
    const read: SecretBytes[] = [];
    const wipe = (): void => {
      for (const { value } of read) value.fill(0);
    };
    try {
      for (const [refs, maxBytes] of [
        [references.secretRefs, MAX_SECRET_BYTES],
        [references.environmentBundleRefs, MAX_BUNDLE_BYTES],
      ] as const) {
        for (const ref of refs)
          files.push(await ProjectedFile.open(root, projectionFileName(ref), maxBytes, this.groups));
      }
      if ((await generationOf(root)) !== generation) throw new CustodyError('torn', null);
      const allRefs = [...references.secretRefs, ...references.environmentBundleRefs];
      for (const [index, file] of files.entries()) {
        read.push({ secretRef: String(allRefs[index]), value: await file.read() });
      }
      const secrets = references.secretRefs.length;
      return { values: read.slice(0, secrets), environmentBundles: read.slice(secrets), wipe };
    } catch (error) {
      wipe();
      throw error;
    } finally {
      await Promise.all(files.map((file) => file.close()));
    }
  }
}

/** What Kubernetes' `..data` points to: another name for each generation. Null for a plain directory. */
function generationOf(root: string): Promise<string | null> {
  return readlink(join(root, '..data')).catch(() => null);
}
