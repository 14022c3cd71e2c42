import { sha256Hex } from '../text/digest.js';
import { LEGACY_ID } from './legacy-plan.js';
import {
  readLegacyTaskItem,
  readLegacyTriggerItem,
  refuseApplication as refuse,
  type LegacyTaskItem,
  type LegacyTriggerItem,
} from './legacy-set.js';
import { readRecord } from '../json/plain-data.js';
import { readRevision } from '../tasks/revision.js';
import { digest, matching } from '../text/text.js';

/** A task item as it was applied: what it belongs to, and what it became. */
export interface AppliedTaskItem extends LegacyTaskItem {
  readonly applicationId: string;
  readonly projectId: string;
  readonly revision: number;
  readonly contentDigest: string;
  /** null for a disabled task, which has no execution revision. */
  readonly executionContentDigest: string | null;
}

/** A trigger item as it was applied. */
export interface AppliedTriggerItem extends LegacyTriggerItem {
  readonly applicationId: string;
  readonly projectId: string;
  readonly revision: number;
  readonly contentDigest: string;
  readonly taskRevision: number;
  readonly taskContentDigest: string;
}

const DOMAIN = 'qinglong/cluster-legacy-env-migration-application-';
const APPLIED_KEYS = [
  'applicationId',
  'projectId',
  'ordinal',
  'taskId',
  'mutationId',
  'revision',
  'contentDigest',
];
const PREVIOUS_KEYS = ['previousRevision', 'previousContentDigest'];

/** @throws ValiseError CLUSTER_LEGACY_ENV_MIGRATION_APPLICATION_INVALID */
export function appliedTaskItemDigest(item: AppliedTaskItem): string {
  const keys = [...APPLIED_KEYS, ...PREVIOUS_KEYS, 'executionContentDigest'];
  const given = readRecord(item, keys, [], 'item', refuse);
  const { ordinal, ...task } = readLegacyTaskItem(given);
  const execution = given.executionContentDigest;
  return itemDigest('task', {
    applicationId: matching(given.applicationId, LEGACY_ID, 'applicationId', refuse),
    ordinal,
    projectId: matching(given.projectId, LEGACY_ID, 'projectId', refuse),
    ...task,
    revision: readRevision(given.revision, 'revision', refuse),
    contentDigest: digest(given.contentDigest, 'contentDigest', refuse),
    executionContentDigest: execution === null ? null : digest(execution, 'executionContentDigest', refuse),
  });
}

/** @throws ValiseError CLUSTER_LEGACY_ENV_MIGRATION_APPLICATION_INVALID */
export function appliedTriggerItemDigest(item: AppliedTriggerItem): string {
  const taskKeys = ['previousTaskRevision', 'previousTaskContentDigest', 'taskRevision', 'taskContentDigest'];
  const keys = [...APPLIED_KEYS, ...PREVIOUS_KEYS, ...taskKeys, 'triggerId'];
  const given = readRecord(item, keys, [], 'item', refuse);
  const { ordinal, ...trigger } = readLegacyTriggerItem(given);
  return itemDigest('trigger', {
    applicationId: matching(given.applicationId, LEGACY_ID, 'applicationId', refuse),
    ordinal,
    projectId: matching(given.projectId, LEGACY_ID, 'projectId', refuse),
    ...trigger,
    revision: readRevision(given.revision, 'revision', refuse),
    contentDigest: digest(given.contentDigest, 'contentDigest', refuse),
    taskRevision: readRevision(given.taskRevision, 'taskRevision', refuse),
    taskContentDigest: digest(given.taskContentDigest, 'taskContentDigest', refuse),
  });
}

/** The members stand in the order of the digested JSON. */
const itemDigest = (noun: 'task' | 'trigger', item: object): string =>
  sha256Hex(`${DOMAIN}${noun}-item@v1\0`, JSON.stringify(item));
