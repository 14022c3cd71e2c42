import { sha256Hex } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';

export type MutationKind = 'publish_task' | 'start_run' | 'cancel_run' | 'retry_run';

/** One use of a mutation id. */
export interface Mutation {
  readonly projectId: string;
  readonly mutationId: string;
  readonly kind: MutationKind;
  /** What was asked for, so that a replay can be told from another request under the same id. */
  readonly contentDigest: string;
  /** The task or the run. */
  readonly subjectId: string;
  /** The revision that a publication made, else null. */
  readonly result: number | null;
}

/** The digest of what a mutation asks for. */
export const mutationDigest = (...parts: readonly (string | number | boolean)[]): string =>
  sha256Hex(JSON.stringify(parts));

/** Passes a mutation that was applied with the same content. @throws ValiseError mutation_conflict */
export function assertReplays(
  applied: Mutation,
  asked: Pick<Mutation, 'kind' | 'contentDigest'>,
): asserts applied is Mutation {
  if (applied.kind !== asked.kind || applied.contentDigest !== asked.contentDigest) {
    throw new ValiseError('mutation_conflict', { kind: applied.kind });
  }
}
