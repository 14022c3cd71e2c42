import { sha256Hex } from '../text/digest.js';
import { readProjectReference } from '../environment/environment-binding.js';
import { LEGACY_ID, MAX_LEGACY_TASKS, MAX_LEGACY_TRIGGERS } from './legacy-plan.js';
import { refuseApplication as refuse } from './legacy-set.js';
import { readRecord } from '../json/plain-data.js';
import { readMutationId, readTimeMs } from '../tasks/revision.js';
import { digest, integer, matching } from '../text/text.js';

export const LEGACY_RECEIPT_SCHEMA = 'qinglong/cluster-legacy-env-migration-application-receipt@v1';

/** What a migration did, in one transaction. */
export interface LegacyApplication {
  readonly applicationId: string;
  readonly mutationId: string;
  readonly projectId: string;
  readonly planId: string;
  readonly planDigest: string;
  readonly environmentBundleRef: string;
  readonly taskRevisionSetDigest: string;
  readonly triggerRevisionSetDigest: string;
  readonly taskMutationSetDigest: string;
  readonly triggerMutationSetDigest: string;
  readonly taskCount: number;
  readonly triggerCount: number;
  readonly committedAtMs: number;
}

export interface LegacyReceipt extends LegacyApplication {
  readonly schema: typeof LEGACY_RECEIPT_SCHEMA;
  readonly receiptDigest: string;
}

const KEYS = [
  'applicationId',
  'mutationId',
  'projectId',
  'planId',
  'planDigest',
  'environmentBundleRef',
  'taskRevisionSetDigest',
  'triggerRevisionSetDigest',
  'taskMutationSetDigest',
  'triggerMutationSetDigest',
  'taskCount',
  'triggerCount',
  'committedAtMs',
];
const DIGEST_DOMAIN = 'qinglong/cluster-legacy-env-migration-application-receipt-digest@v1\0';

/**
 * The receipt of a migration with its digest (wire.md §10).
 * @throws ValiseError CLUSTER_LEGACY_ENV_MIGRATION_APPLICATION_INVALID
 */
export function createLegacyReceipt(application: LegacyApplication): LegacyReceipt {
  const given = readRecord(application, KEYS, [], 'application', refuse);
  const id = (key: string): string => matching(given[key], LEGACY_ID, key, refuse);
  const setDigest = (key: string): string => digest(given[key], key, refuse);
  const projectId = id('projectId');
  const bundle = readProjectReference(given.environmentBundleRef, projectId, 'environmentBundleRef', refuse);
  if (bundle.version === undefined) refuse({ field: 'environmentBundleRef', rule: 'pinned' });
  // In the order of the digested JSON.
  const receipt = {
    schema: LEGACY_RECEIPT_SCHEMA,
    applicationId: id('applicationId'),
    mutationId: readMutationId(given.mutationId, refuse),
    projectId,
    planId: id('planId'),
    planDigest: setDigest('planDigest'),
    environmentBundleRef: bundle.text,
    taskRevisionSetDigest: setDigest('taskRevisionSetDigest'),
    triggerRevisionSetDigest: setDigest('triggerRevisionSetDigest'),
    taskMutationSetDigest: setDigest('taskMutationSetDigest'),
    triggerMutationSetDigest: setDigest('triggerMutationSetDigest'),
    taskCount: integer(given.taskCount, 1, MAX_LEGACY_TASKS, 'taskCount', refuse),
    triggerCount: integer(given.triggerCount, 0, MAX_LEGACY_TRIGGERS, 'triggerCount', refuse),
    committedAtMs: readTimeMs(given.committedAtMs, 'committedAtMs', refuse),
  } as const;
  return { ...receipt, receiptDigest: sha256Hex(DIGEST_DOMAIN, JSON.stringify(receipt)) };
}
