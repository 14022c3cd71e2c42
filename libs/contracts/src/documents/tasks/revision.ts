import type { Refuse } from '../refusal.js';
import { integer, MAX_INT32, matching } from '../text/text.js';

const MUTATION_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A lower-case UUID of any version. */
export const readMutationId = (value: unknown, refuse: Refuse): string =>
  matching(value, MUTATION_ID, 'mutationId', refuse);

export const readRevision = (value: unknown, field: string, refuse: Refuse): number =>
  integer(value, 1, MAX_INT32, field, refuse);

/** The revision after `expectedRevision`; null makes the first. */
export function nextRevision(expectedRevision: unknown, refuse: Refuse): number {
  if (expectedRevision === null) return 1;
  return integer(expectedRevision, 1, MAX_INT32 - 1, 'expectedRevision', refuse) + 1;
}

/** The times of a record: updatedAtMs ≥ createdAtMs ≥ 0. */
export function readTimes(
  createdAtMs: unknown,
  updatedAtMs: unknown,
  refuse: Refuse,
): { createdAtMs: number; updatedAtMs: number } {
  const created = readTimeMs(createdAtMs, 'createdAtMs', refuse);
  const updated = readTimeMs(updatedAtMs, 'updatedAtMs', refuse);
  if (updated < created) refuse({ field: 'updatedAtMs', rule: 'minimum', limit: created, actual: updated });
  return { createdAtMs: created, updatedAtMs: updated };
}

export const readTimeMs = (value: unknown, field: string, refuse: Refuse): number =>
  integer(value, 0, Number.MAX_SAFE_INTEGER, field, refuse);
