import { projectionFileName } from '@valise/contracts/documents';
import { forget } from '@valise/process';
import type { Projection } from './projection.js';
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

/** Reads projections of one generation, in their order. @throws CustodyError */
export type ReadProjections = (projections: readonly Projection[]) => Promise<Buffer<ArrayBuffer>[]>;

/** Secret material in files below one directory, each named by the digest of its reference (wire.md §1). */
export class MountedFilesCustody extends SecretCustody {
  constructor(
    private readonly read: ReadProjections,
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
            material.forget();
          },
        });
      } catch (error) {
        const swapped = error instanceof CustodyError && error.fault === 'torn';
        if (!swapped || performance.now() + waitMs >= deadlineAtMs) throw error;
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
  }

  private async readAll({
    secretRefs,
    environmentBundleRefs,
  }: AuthorisedReferences): Promise<SecretMaterial> {
    const contents = await this.read([
      ...secretRefs.map((reference) => projectionOf(reference, MAX_SECRET_BYTES)),
      ...environmentBundleRefs.map((reference) => projectionOf(reference, MAX_BUNDLE_BYTES)),
    ]);
    const read = [...secretRefs, ...environmentBundleRefs].map((secretRef, index): SecretBytes => {
      const value = contents[index];
      if (!value) throw new Error('every projection that was asked for was read');
      return { secretRef, value };
    });
    return {
      values: read.slice(0, secretRefs.length),
      environmentBundles: read.slice(secretRefs.length),
      forget: () => {
        for (const { value } of read) forget(value);
      },
    };
  }
}

function projectionOf(reference: string, maxBytes: number): Projection {
  return { name: projectionFileName(reference), maxBytes };
}
