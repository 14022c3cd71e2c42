import { sha256Hex } from '../text/digest.js';
import { readProjectReference } from '../environment/environment-binding.js';
import { readRecord } from '../json/plain-data.js';
import { refusal, type Refuse } from '../refusal.js';
import { readTimeMs } from '../tasks/revision.js';
import { digest, integer, matching } from '../text/text.js';

export const LEGACY_PLAN_SCHEMA = 'qinglong/cluster-legacy-env-migration-plan@v1';

/** What was counted in the old variable table; no name and no value is in it. */
export interface LegacyPlanSource {
  readonly reconciliationBundleDigest: string;
  readonly decisionDigest: string;
  readonly candidateSetDigest: string;
  readonly sourceRowCount: number;
  readonly activeRowCount: number;
  readonly disabledRowCount: number;
  readonly effectiveBindingCount: number;
}

/** Where the variables go: one pinned bundle, and the exact sets of tasks and triggers that will name it. */
export interface LegacyPlanTarget {
  readonly secretRef: string;
  readonly taskRevisionSetDigest: string;
  readonly triggerRevisionSetDigest: string;
  readonly taskCount: number;
  readonly triggerCount: number;
  readonly totalEffectiveBytes: number;
}

export interface LegacyPlanIntent {
  readonly planId: string;
  readonly mutationId: string;
  readonly projectId: string;
  readonly source: LegacyPlanSource;
  readonly target: LegacyPlanTarget;
}

export interface LegacyPlan extends LegacyPlanIntent {
  readonly schema: typeof LEGACY_PLAN_SCHEMA;
  readonly plannedAtMs: number;
  readonly planDigest: string;
}

/** The narrow ids of a migration. */
export const LEGACY_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
export const MAX_LEGACY_TASKS = 100_000;
export const MAX_LEGACY_TRIGGERS = 500_000;

const MAX_ROWS = 100_000;
const MAX_BINDINGS = 256;
const MAX_BYTES = 64 * 1024;
const DIGEST_DOMAIN = 'qinglong/cluster-legacy-env-migration-plan-digest@v1\0';

const refuse: Refuse = refusal('CLUSTER_LEGACY_ENV_MIGRATION_PLAN_INVALID');

/**
 * The plan of a migration with its digest (wire.md §10).
 * @throws ValiseError CLUSTER_LEGACY_ENV_MIGRATION_PLAN_INVALID
 */
export function createLegacyPlan(intent: LegacyPlanIntent, plannedAtMs: number): LegacyPlan {
  const keys = ['planId', 'mutationId', 'projectId', 'source', 'target'];
  const given = readRecord(intent, keys, [], 'intent', refuse);
  const projectId = matching(given.projectId, LEGACY_ID, 'projectId', refuse);
  // In the order of the digested JSON.
  const plan = {
    schema: LEGACY_PLAN_SCHEMA,
    planId: matching(given.planId, LEGACY_ID, 'planId', refuse),
    mutationId: matching(given.mutationId, LEGACY_ID, 'mutationId', refuse),
    projectId,
    source: readSource(given.source),
    target: readTarget(given.target, projectId),
    plannedAtMs: readTimeMs(plannedAtMs, 'plannedAtMs', refuse),
  } as const;
  return { ...plan, planDigest: sha256Hex(DIGEST_DOMAIN, JSON.stringify(plan)) };
}

function readSource(value: unknown): LegacyPlanSource {
  const digests = ['reconciliationBundleDigest', 'decisionDigest', 'candidateSetDigest'];
  const counts = ['sourceRowCount', 'activeRowCount', 'disabledRowCount', 'effectiveBindingCount'];
  const given = readRecord(value, [...digests, ...counts], [], 'source', refuse);
  const count = (key: string, min: number, max: number): number =>
    integer(given[key], min, max, `source.${key}`, refuse);
  const source = {
    reconciliationBundleDigest: digest(given.reconciliationBundleDigest, 'source.reconciliation', refuse),
    decisionDigest: digest(given.decisionDigest, 'source.decisionDigest', refuse),
    candidateSetDigest: digest(given.candidateSetDigest, 'source.candidateSetDigest', refuse),
    sourceRowCount: count('sourceRowCount', 1, MAX_ROWS),
    activeRowCount: count('activeRowCount', 1, MAX_ROWS),
    disabledRowCount: count('disabledRowCount', 0, MAX_ROWS),
    effectiveBindingCount: count('effectiveBindingCount', 1, MAX_BINDINGS),
  };
  const { sourceRowCount, activeRowCount, disabledRowCount, effectiveBindingCount } = source;
  if (sourceRowCount !== activeRowCount + disabledRowCount) refuse({ field: 'source', rule: 'row_sum' });
  if (effectiveBindingCount > activeRowCount) refuse({ field: 'source', rule: 'binding_count' });
  return source;
}

function readTarget(value: unknown, projectId: string): LegacyPlanTarget {
  const keys = [
    'secretRef',
    'taskRevisionSetDigest',
    'triggerRevisionSetDigest',
    'taskCount',
    'triggerCount',
    'totalEffectiveBytes',
  ];
  const given = readRecord(value, keys, [], 'target', refuse);
  const bundle = readProjectReference(given.secretRef, projectId, 'target.secretRef', refuse);
  if (bundle.version === undefined) refuse({ field: 'target.secretRef', rule: 'pinned' });
  const count = (key: string, min: number, max: number): number =>
    integer(given[key], min, max, `target.${key}`, refuse);
  return {
    secretRef: bundle.text,
    taskRevisionSetDigest: digest(given.taskRevisionSetDigest, 'target.taskRevisionSetDigest', refuse),
    triggerRevisionSetDigest: digest(
      given.triggerRevisionSetDigest,
      'target.triggerRevisionSetDigest',
      refuse,
    ),
    taskCount: count('taskCount', 1, MAX_LEGACY_TASKS),
    triggerCount: count('triggerCount', 0, MAX_LEGACY_TRIGGERS),
    totalEffectiveBytes: count('totalEffectiveBytes', 1, MAX_BYTES),
  };
}
