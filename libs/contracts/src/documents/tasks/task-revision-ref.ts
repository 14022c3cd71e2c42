import { readRecord } from '../json/plain-data.js';
import { refusal, type Refuse } from '../refusal.js';
import { readRevision } from './revision.js';
import { digest } from '../text/text.js';

/** One revision of a task, named by its number and its content. */
export interface TaskRevisionRef {
  readonly revision: number;
  readonly contentDigest: string;
}

const SHAPE = /^qltd:v1:([1-9][0-9]{0,9}):([0-9a-f]{64})$/;

const refuse: Refuse = refusal('TASK_DEFINITION_COMPILATION_INVALID');

/** @throws ValiseError TASK_DEFINITION_COMPILATION_INVALID */
export const createTaskRevisionRef = (revision: number, contentDigest: string): string =>
  writeTaskRevisionRef({ revision, contentDigest });

/**
 * The text of a reference given as an object of exactly its two facts.
 * @throws ValiseError TASK_DEFINITION_COMPILATION_INVALID
 */
export function writeTaskRevisionRef(ref: TaskRevisionRef): string {
  const given = readRecord(ref, ['revision', 'contentDigest'], [], 'taskRevision', refuse);
  const revision = readRevision(given.revision, 'revision', refuse);
  return `qltd:v1:${revision}:${digest(given.contentDigest, 'contentDigest', refuse)}`;
}

/** @throws ValiseError TASK_DEFINITION_COMPILATION_INVALID */
export function parseTaskRevisionRef(text: unknown): TaskRevisionRef {
  if (typeof text !== 'string') refuse({ field: 'taskRevision', rule: 'string' });
  const [, revision, contentDigest] = SHAPE.exec(text) ?? refuse({ field: 'taskRevision', rule: 'pattern' });
  return { revision: readRevision(Number(revision), 'revision', refuse), contentDigest: contentDigest ?? '' };
}
