import { createHash } from 'node:crypto';
import { MAX_LEGACY_TASKS, MAX_LEGACY_TRIGGERS } from './legacy-plan.js';
import { readList, readRecord, type Plain } from '../json/plain-data.js';
import { refusal, type Refuse } from '../refusal.js';
import { readMutationId } from '../tasks/revision.js';
import { digest, identifier, integer, MAX_INT32 } from '../text/text.js';

/** One task that a migration gives its next revision; keys in the order of the digested JSON. */
export interface LegacyTaskItem {
  readonly ordinal: number;
  readonly taskId: string;
  readonly previousRevision: number;
  readonly previousContentDigest: string;
  readonly mutationId: string;
}

/** One trigger that a migration moves to its task's next revision; keys in the order of the digested JSON. */
export interface LegacyTriggerItem {
  readonly ordinal: number;
  readonly triggerId: string;
  readonly taskId: string;
  readonly previousRevision: number;
  readonly previousContentDigest: string;
  readonly previousTaskRevision: number;
  readonly previousTaskContentDigest: string;
  readonly mutationId: string;
}

/** The digests of a set: of the revisions it starts from, and of what it does to them. */
export interface LegacySetDigests {
  readonly count: number;
  readonly revisionSetDigest: string;
  readonly mutationSetDigest: string;
}

const TASK_KEYS = ['ordinal', 'taskId', 'previousRevision', 'previousContentDigest', 'mutationId'];
const TRIGGER_KEYS = [
  'ordinal',
  'triggerId',
  'taskId',
  'previousRevision',
  'previousContentDigest',
  'previousTaskRevision',
  'previousTaskContentDigest',
  'mutationId',
];

export const refuseApplication: Refuse = refusal('CLUSTER_LEGACY_ENV_MIGRATION_APPLICATION_INVALID');

/**
 * The digests of a complete set of tasks: ordinals from 0 without gaps, ids strictly rising by UTF-16 code unit.
 * @throws ValiseError CLUSTER_LEGACY_ENV_MIGRATION_APPLICATION_INVALID
 */
export function digestLegacyTaskSet(items: readonly LegacyTaskItem[]): LegacySetDigests {
  const tasks = readList(items, MAX_LEGACY_TASKS, 'tasks', refuseApplication).map((item, index) =>
    readLegacyTaskItem(readRecord(item, TASK_KEYS, [], `tasks[${index}]`, refuseApplication)),
  );
  assertRising(tasks, 'taskId', 'tasks');
  return digests('task', tasks, ({ ordinal, taskId, previousRevision, previousContentDigest }) => ({
    ordinal,
    taskId,
    revision: previousRevision,
    contentDigest: previousContentDigest,
  }));
}

/**
 * The digests of a complete set of triggers, ordered like tasks.
 * @throws ValiseError CLUSTER_LEGACY_ENV_MIGRATION_APPLICATION_INVALID
 */
export function digestLegacyTriggerSet(items: readonly LegacyTriggerItem[]): LegacySetDigests {
  const triggers = readList(items, MAX_LEGACY_TRIGGERS, 'triggers', refuseApplication).map((item, index) =>
    readLegacyTriggerItem(readRecord(item, TRIGGER_KEYS, [], `triggers[${index}]`, refuseApplication)),
  );
  assertRising(triggers, 'triggerId', 'triggers');
  return digests('trigger', triggers, (trigger) => ({
    ordinal: trigger.ordinal,
    triggerId: trigger.triggerId,
    taskId: trigger.taskId,
    revision: trigger.previousRevision,
    contentDigest: trigger.previousContentDigest,
    taskRevision: trigger.previousTaskRevision,
    taskContentDigest: trigger.previousTaskContentDigest,
  }));
}

/** The members that a task item has in a set and in the ledger. */
export function readLegacyTaskItem(given: Plain): LegacyTaskItem {
  return {
    ordinal: integer(given.ordinal, 0, MAX_LEGACY_TASKS - 1, 'ordinal', refuseApplication),
    taskId: identifier(given.taskId, 'taskId', refuseApplication),
    previousRevision: readPrevious(given, 'previousRevision'),
    previousContentDigest: digest(given.previousContentDigest, 'previousContentDigest', refuseApplication),
    mutationId: readMutationId(given.mutationId, refuseApplication),
  };
}

/** The members that a trigger item has in a set and in the ledger. */
export function readLegacyTriggerItem(given: Plain): LegacyTriggerItem {
  const contentDigest = (key: string): string => digest(given[key], key, refuseApplication);
  return {
    ordinal: integer(given.ordinal, 0, MAX_LEGACY_TRIGGERS - 1, 'ordinal', refuseApplication),
    triggerId: identifier(given.triggerId, 'triggerId', refuseApplication),
    taskId: identifier(given.taskId, 'taskId', refuseApplication),
    previousRevision: readPrevious(given, 'previousRevision'),
    previousContentDigest: contentDigest('previousContentDigest'),
    previousTaskRevision: readPrevious(given, 'previousTaskRevision'),
    previousTaskContentDigest: contentDigest('previousTaskContentDigest'),
    mutationId: readMutationId(given.mutationId, refuseApplication),
  };
}

/** A revision that still has a successor. */
const readPrevious = (given: Plain, key: string): number =>
  integer(given[key], 1, MAX_INT32 - 1, key, refuseApplication);

function assertRising<K extends string>(
  items: readonly ({ readonly ordinal: number } & Readonly<Record<K, string>>)[],
  id: K,
  field: string,
): void {
  for (const [index, item] of items.entries()) {
    const previous = items[index - 1];
    if (item.ordinal !== index) refuseApplication({ field: `${field}[${index}].ordinal`, rule: 'ordinal' });
    if (previous && previous[id] >= item[id]) {
      refuseApplication({ field: `${field}[${index}].${id}`, rule: 'order' });
    }
  }
}

function digests<T>(
  noun: 'task' | 'trigger',
  items: readonly T[],
  revision: (item: T) => object,
): LegacySetDigests {
  const domain = `qinglong/cluster-legacy-env-${noun}`;
  return {
    count: items.length,
    revisionSetDigest: digestLines(`${domain}-revision-set@v1\0`, items.map(revision)),
    mutationSetDigest: digestLines(`${domain}-mutation-set@v1\0`, items),
  };
}

/** Line by line: a set of half a million items is never one text. */
function digestLines(domain: string, lines: readonly unknown[]): string {
  const hash = createHash('sha256').update(domain);
  for (const line of lines) hash.update(`${JSON.stringify(line)}\n`);
  return hash.update(`${JSON.stringify({ count: lines.length })}\n`).digest('hex');
}
