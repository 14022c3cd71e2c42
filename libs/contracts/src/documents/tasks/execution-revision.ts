import { readAbsolutePath, readCommand, readTimeoutMs, type Command } from './command.js';
import { sha256Hex } from '../text/digest.js';
import {
  readDeclaredEnvironment,
  secretsOf,
  type DeclaredEnvironment,
} from '../environment/environment-binding.js';
import { jsonBytes } from '../json/json-value.js';
import { effectivePlacement, type Placement } from '../workers/placement.js';
import { readRecord, type Plain } from '../json/plain-data.js';
import { refusal, type Refuse } from '../refusal.js';
import { readRevision, readTimeMs } from './revision.js';
import { createTaskRevisionRef } from './task-revision-ref.js';
import { digest, identifier } from '../text/text.js';

export const EXECUTION_PLAN_SCHEMA = 'qinglong/command-execution@v1';

/** What a worker runs, without the digest; keys in the order of the digested JSON (wire.md §4). */
export interface ExecutionPlan extends DeclaredEnvironment {
  readonly projectId: string;
  readonly taskId: string;
  readonly taskRevision: string;
  readonly sourceRevision: number;
  readonly sourceContentDigest: string;
  readonly executorType: 'remote_worker';
  readonly planSchema: typeof EXECUTION_PLAN_SCHEMA;
  readonly command: Command;
  readonly workingDirectory?: string;
  readonly timeoutMs?: number;
  readonly placement?: Placement;
  /** Stored, not digested. */
  readonly createdAtMs: number;
}

export interface ExecutionRevision extends ExecutionPlan {
  readonly contentDigest: string;
}

const DIGEST_DOMAIN = 'qinglong.cluster-task-execution-revision.v1\0';
const MAX_BYTES = 96 * 1024;
const REQUIRED_KEYS = [
  'projectId',
  'taskId',
  'taskRevision',
  'sourceRevision',
  'sourceContentDigest',
  'executorType',
  'planSchema',
  'command',
  'environment',
  'createdAtMs',
];
const OPTIONAL_KEYS = ['environmentBundleRef', 'workingDirectory', 'timeoutMs', 'placement'];

const refuse: Refuse = refusal('CLUSTER_EXECUTION_REVISION_INVALID');

/**
 * The revision of a plan, canonical and with its digest. A placement that is present becomes the effective one; an
 * absent one stays absent, so that old revisions keep their bytes.
 * @throws ValiseError CLUSTER_EXECUTION_REVISION_INVALID
 */
export function createExecutionRevision(plan: ExecutionPlan): ExecutionRevision {
  return readPlan(readRecord(plan, REQUIRED_KEYS, OPTIONAL_KEYS, 'executionRevision', refuse));
}

/**
 * Reads a revision from JSON and verifies that its digest names its content.
 * @throws ValiseError CLUSTER_EXECUTION_REVISION_INVALID
 */
export function readExecutionRevision(json: unknown): ExecutionRevision {
  const keys = [...REQUIRED_KEYS, 'contentDigest'];
  const given = readRecord(json, keys, OPTIONAL_KEYS, 'executionRevision', refuse);
  const revision = readPlan(given);
  if (given.contentDigest !== revision.contentDigest) refuse({ field: 'contentDigest', rule: 'mismatch' });
  return revision;
}

/** The text whose SHA-256 is the content digest of a canonical plan. */
export function executionRevisionPreimage(plan: ExecutionPlan): string {
  const { projectId, taskId, taskRevision, sourceRevision, sourceContentDigest, executorType } = plan;
  const { planSchema, command, environment, environmentBundleRef } = plan;
  const { workingDirectory, timeoutMs, placement } = plan;
  const json = JSON.stringify({
    projectId,
    taskId,
    taskRevision,
    sourceRevision,
    sourceContentDigest,
    executorType,
    planSchema,
    command,
    environment,
    environmentBundleRef,
    workingDirectory,
    timeoutMs,
    placement,
  });
  return DIGEST_DOMAIN + json;
}

/** What a delivery for this revision has to ask for: distinct references, in binding order. */
export function executionReferences(environment: DeclaredEnvironment): {
  secretRefs: string[];
  environmentBundleRefs: string[];
} {
  const { environmentBundleRef } = environment;
  return {
    secretRefs: secretsOf(environment.environment),
    environmentBundleRefs: environmentBundleRef === undefined ? [] : [environmentBundleRef],
  };
}

function readPlan(given: Plain): ExecutionRevision {
  const { workingDirectory, timeoutMs, placement } = given;
  const projectId = identifier(given.projectId, 'projectId', refuse);
  const taskId = identifier(given.taskId, 'taskId', refuse);
  const source = readSource(given);
  if (given.executorType !== 'remote_worker') refuse({ field: 'executorType', rule: 'one_of' });
  if (given.planSchema !== EXECUTION_PLAN_SCHEMA) refuse({ field: 'planSchema', rule: 'one_of' });
  const plan: ExecutionPlan = {
    projectId,
    taskId,
    ...source,
    executorType: 'remote_worker',
    planSchema: EXECUTION_PLAN_SCHEMA,
    command: readCommand(given.command, refuse),
    ...readDeclaredEnvironment(given.environment, given.environmentBundleRef, projectId, refuse),
    ...(workingDirectory !== undefined && {
      workingDirectory: readAbsolutePath(workingDirectory, 'workingDirectory', refuse),
    }),
    ...(timeoutMs !== undefined && { timeoutMs: readTimeoutMs(timeoutMs, refuse) }),
    ...(placement !== undefined && { placement: effectivePlacement(placement, refuse) }),
    createdAtMs: readTimeMs(given.createdAtMs, 'createdAtMs', refuse),
  };
  const actual = jsonBytes(plan);
  if (actual > MAX_BYTES) refuse({ field: 'executionRevision', rule: 'max_bytes', limit: MAX_BYTES, actual });
  return { ...plan, contentDigest: sha256Hex(executionRevisionPreimage(plan)) };
}

function readSource(
  given: Plain,
): Pick<ExecutionPlan, 'taskRevision' | 'sourceRevision' | 'sourceContentDigest'> {
  const sourceRevision = readRevision(given.sourceRevision, 'sourceRevision', refuse);
  const sourceContentDigest = digest(given.sourceContentDigest, 'sourceContentDigest', refuse);
  const taskRevision = createTaskRevisionRef(sourceRevision, sourceContentDigest);
  if (given.taskRevision !== taskRevision) refuse({ field: 'taskRevision', rule: 'mismatch' });
  return { taskRevision, sourceRevision, sourceContentDigest };
}
