/** The references that a committed authorisation names, in their order; only the second list may use 96 KiB. */
export interface AuthorisedReferences {
  readonly secretRefs: readonly string[];
  readonly environmentBundleRefs: readonly string[];
}

/** One reference's bytes, exactly as the store holds them. */
export interface SecretBytes {
  readonly secretRef: string;
  readonly value: Buffer<ArrayBuffer>;
}

/** What a custody hands out; whoever receives it calls `forget` on every way out. */
export interface SecretMaterial {
  readonly values: readonly SecretBytes[];
  readonly environmentBundles: readonly SecretBytes[];
  forget(): void;
}

/** Why material cannot be handed out. For the operator's log and metrics; a worker learns one code for all of them. */
export const CUSTODY_FAULTS = [
  'missing',
  'unreadable',
  'not_a_file',
  'outside_root',
  'over_permissive',
  'too_large',
  'torn',
  'deadline',
  'root_unavailable',
] as const;

export type CustodyFault = (typeof CUSTODY_FAULTS)[number];

export class CustodyError extends Error {
  override readonly name = 'CustodyError';

  /** `projection` is the file's name, a digest; never the reference's text. */
  constructor(
    readonly fault: CustodyFault,
    readonly projection: string | null,
  ) {
    super(fault);
  }
}

/** Where secret material comes from. Nothing is cached: each call sees the store as it is now. */
export abstract class SecretCustody {
  /** @throws CustodyError; then nothing is kept of what was read before it. */
  abstract resolve(references: AuthorisedReferences, deadlineAtMs: number): Promise<SecretMaterial>;
}
