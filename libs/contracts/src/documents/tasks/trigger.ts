import { sha256Hex } from '../text/digest.js';
import { readRecord } from '../json/plain-data.js';
import { refusal, type Refuse } from '../refusal.js';
import { nextRevision, readMutationId, readRevision, readTimes } from './revision.js';
import { readSpec, type Spec } from './specification.js';
import { digest, identifier } from '../text/text.js';

/** One revision of a trigger as it is stored: it starts one revision of one task. */
export interface TriggerDefinition {
  readonly projectId: string;
  readonly triggerId: string;
  readonly revision: number;
  readonly taskId: string;
  readonly taskRevision: number;
  readonly taskContentDigest: string;
  readonly spec: Spec;
  readonly enabled: boolean;
  readonly mutationId: string;
  readonly contentDigest: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The wish for a trigger's next revision. */
export interface PutTriggerCommand {
  readonly projectId: string;
  readonly triggerId: string;
  /** The current revision, or null for the first. */
  readonly expectedRevision: number | null;
  readonly mutationId: string;
  readonly taskId: string;
  readonly taskRevision: number;
  readonly taskContentDigest: string;
  readonly spec: unknown;
  readonly enabled: boolean;
  readonly occurredAtMs: number;
}

const KEYS = [
  'projectId',
  'triggerId',
  'expectedRevision',
  'mutationId',
  'taskId',
  'taskRevision',
  'taskContentDigest',
  'spec',
  'enabled',
  'occurredAtMs',
];
const SPEC_LIMITS = { bytes: 16 * 1024, stringBytes: 4 * 1024, items: 128, depth: 8, nodes: 512 } as const;
const DIGEST_DOMAIN = 'qinglong.trigger-definition.v1\0';

const refuse: Refuse = refusal('TRIGGER_INVALID');

/** The generic layer of a trigger's specification (wire.md §11). */
export const readTriggerSpec = (value: unknown): Spec => readSpec(value, SPEC_LIMITS, refuse);

/**
 * The next revision of a trigger, with its content digest. The generic layer alone is judged; what a schedule means is
 * `normalizeTriggerSpec`'s to say, before.
 * @throws ValiseError TRIGGER_INVALID
 */
export function createTrigger(command: PutTriggerCommand, createdAtMs: number): TriggerDefinition {
  const given = readRecord(command, KEYS, [], 'trigger', refuse);
  const { enabled } = given;
  if (typeof enabled !== 'boolean') refuse({ field: 'enabled', rule: 'boolean' });
  // In the order of the digested JSON.
  const content = {
    projectId: identifier(given.projectId, 'projectId', refuse),
    triggerId: identifier(given.triggerId, 'triggerId', refuse),
    revision: nextRevision(given.expectedRevision, refuse),
    taskId: identifier(given.taskId, 'taskId', refuse),
    taskRevision: readRevision(given.taskRevision, 'taskRevision', refuse),
    taskContentDigest: digest(given.taskContentDigest, 'taskContentDigest', refuse),
    spec: readTriggerSpec(given.spec),
    enabled,
  };
  return {
    ...content,
    mutationId: readMutationId(given.mutationId, refuse),
    contentDigest: sha256Hex(DIGEST_DOMAIN, JSON.stringify(content)),
    ...readTimes(createdAtMs, given.occurredAtMs, refuse),
  };
}
