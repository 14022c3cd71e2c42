import { sha256Hex } from '../text/digest.js';
import { compareCodeUnits } from '../text/order.js';
import { readPlain, readRecord, type Plain } from '../json/plain-data.js';
import { refusal, type Refuse } from '../refusal.js';
import { nextRevision, readMutationId, readRevision, readTimes } from './revision.js';
import type { Spec } from './specification.js';
import { readTaskKind, readTaskSpec, type TaskKind } from './task-specification.js';
import { identifier, text } from '../text/text.js';

/** What the content digest is made of, in that order (wire.md §3). */
export interface TaskContent {
  readonly projectId: string;
  readonly taskId: string;
  readonly revision: number;
  readonly name: string;
  readonly description?: string;
  readonly kind: TaskKind;
  readonly spec: Spec;
  readonly labels: Readonly<Record<string, string>>;
  readonly enabled: boolean;
}

/** One revision of a task as it is stored. */
export interface TaskDefinition extends TaskContent {
  readonly mutationId: string;
  readonly contentDigest: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The wish for a task's next revision. */
export interface PutTaskCommand {
  readonly projectId: string;
  readonly taskId: string;
  /** The current revision, or null for the first. */
  readonly expectedRevision: number | null;
  readonly mutationId: string;
  readonly name: string;
  readonly description?: string;
  readonly kind: TaskKind;
  readonly spec: unknown;
  readonly labels: Readonly<Record<string, string>>;
  readonly enabled: boolean;
  readonly occurredAtMs: number;
}

const CONTENT_KEYS = ['projectId', 'taskId', 'name', 'kind', 'spec', 'labels', 'enabled'];
const MAX_NAME_BYTES = 255;
const MAX_DESCRIPTION_BYTES = 4096;
const MAX_LABELS = 32;
const LABEL_KEY = /^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?(?:\/[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?)?$/;
const MAX_LABEL_BYTES = 256;
/** C0 without TAB, LF and CR, and DEL. */
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

const refuse: Refuse = refusal('TASK_DEFINITION_INVALID');

/**
 * The next revision of a task, with its content digest. The generic layer alone is judged; what a command's
 * configuration means is `normalizeCommandSpec`'s to say, before.
 * @throws ValiseError TASK_DEFINITION_INVALID
 */
export function createTaskDefinition(command: PutTaskCommand, createdAtMs: number): TaskDefinition {
  const given = readRecord(
    command,
    [...CONTENT_KEYS, 'expectedRevision', 'mutationId', 'occurredAtMs'],
    ['description'],
    'task',
    refuse,
  );
  const content = readContent(given, nextRevision(given.expectedRevision, refuse), refuse);
  return {
    ...content,
    mutationId: readMutationId(given.mutationId, refuse),
    contentDigest: taskDefinitionDigest(content),
    ...readTimes(createdAtMs, given.occurredAtMs, refuse),
  };
}

/**
 * Reads a stored revision and verifies its content digest.
 * @throws ValiseError TASK_DEFINITION_INVALID, or what `refuse` throws
 */
export function readTaskDefinition(record: unknown, refuseWith: Refuse = refuse): TaskDefinition {
  const given = readRecord(
    record,
    [...CONTENT_KEYS, 'revision', 'mutationId', 'contentDigest', 'createdAtMs', 'updatedAtMs'],
    ['description'],
    'task',
    refuseWith,
  );
  const content = readContent(given, readRevision(given.revision, 'revision', refuseWith), refuseWith);
  const contentDigest = taskDefinitionDigest(content);
  if (given.contentDigest !== contentDigest) refuseWith({ field: 'contentDigest', rule: 'mismatch' });
  return {
    ...content,
    mutationId: readMutationId(given.mutationId, refuseWith),
    contentDigest,
    ...readTimes(given.createdAtMs, given.updatedAtMs, refuseWith),
  };
}

/** The digest of a revision's content; mutation id and times stay outside. */
export const taskDefinitionDigest = (content: TaskContent): string =>
  sha256Hex(taskDefinitionPreimage(content));

/** The text whose SHA-256 is the content digest. */
export function taskDefinitionPreimage(content: TaskContent): string {
  const { projectId, taskId, revision, name, description, kind, spec, labels, enabled } = content;
  return JSON.stringify({ projectId, taskId, revision, name, description, kind, spec, labels, enabled });
}

function readContent(given: Plain, revision: number, refuseWith: Refuse): TaskContent {
  const { description, enabled } = given;
  if (typeof enabled !== 'boolean') refuseWith({ field: 'enabled', rule: 'boolean' });
  return {
    projectId: identifier(given.projectId, 'projectId', refuseWith),
    taskId: identifier(given.taskId, 'taskId', refuseWith),
    revision,
    name: readProse(given.name, MAX_NAME_BYTES, 'name', refuseWith),
    ...(description !== undefined && {
      description: readProse(description, MAX_DESCRIPTION_BYTES, 'description', refuseWith),
    }),
    kind: readTaskKind(given.kind, refuseWith),
    spec: readTaskSpec(given.spec, refuseWith),
    labels: readTaskLabels(given.labels, refuseWith),
    enabled,
  };
}

function readProse(value: unknown, max: number, field: string, refuseWith: Refuse): string {
  const prose = text(value, 1, max, field, refuseWith);
  if (CONTROL_CHARACTERS.test(prose)) refuseWith({ field, rule: 'control_character' });
  return prose;
}

function readTaskLabels(value: unknown, refuseWith: Refuse): Readonly<Record<string, string>> {
  const field = 'labels';
  const given = readPlain(value, field, refuseWith);
  const keys = Object.keys(given).sort(compareCodeUnits);
  if (keys.length > MAX_LABELS) {
    refuseWith({ field, rule: 'max_items', limit: MAX_LABELS, actual: keys.length });
  }
  const labels = Object.create(null) as Record<string, string>;
  for (const key of keys) {
    if (!LABEL_KEY.test(key)) refuseWith({ field, rule: 'pattern' });
    labels[key] = text(given[key], 1, MAX_LABEL_BYTES, field, refuseWith);
  }
  return labels;
}
