import { ValiseError } from '@valise/contracts/failure';
import type { PutWorkerRequest, WorkerStatus, WorkerView } from '@valise/contracts/wire';

/** What operators allow a worker. */
export interface Worker {
  readonly workerId: string;
  readonly status: WorkerStatus;
  readonly projects: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export const EVERY_PROJECT = '*';

/** Whether no operator allows the worker anything: revoked, or (null) never put. */
export function isRevoked(status: WorkerStatus | null): boolean {
  return status === null || status === 'revoked';
}

export function mayServe(worker: Pick<Worker, 'projects'>, projectId: string): boolean {
  return worker.projects.includes(EVERY_PROJECT) || worker.projects.includes(projectId);
}

/**
 * The projects in which the worker's leases live on after `next`; null when no lease is touched.
 * A revoked worker keeps none.
 */
export function keptProjects(next: Pick<Worker, 'status' | 'projects'>): readonly string[] | null {
  if (next.status === 'revoked') return [];
  return next.projects.includes(EVERY_PROJECT) ? null : next.projects;
}

const MAX_LABELS = 32;
const LABEL_KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/;
const MAX_LABEL_BYTES = 256;

/** Labels keep the rule of placement labels (wire.md §11). @throws ValiseError invalid_request */
export function assertWorkerRequest({ labels, projects }: PutWorkerRequest): void {
  const entries = Object.entries(labels as Readonly<Record<string, unknown>>);
  const refuse = (field: string, rule: string): never => {
    throw new ValiseError('invalid_request', { field, rule });
  };
  if (entries.length > MAX_LABELS) refuse('labels', 'max_items');
  for (const [key, value] of entries) {
    if (!LABEL_KEY.test(key)) refuse('labels', 'pattern');
    if (typeof value !== 'string' || value === '' || !value.isWellFormed() || value.includes('\0')) {
      refuse('labels', 'string');
    } else if (Buffer.byteLength(value) > MAX_LABEL_BYTES) refuse('labels', 'max_bytes');
  }
  if (projects.includes(EVERY_PROJECT) && projects.length > 1) refuse('projects', 'every_project_alone');
}

export function workerView(worker: Worker): WorkerView {
  return { ...worker, projects: [...worker.projects], labels: { ...worker.labels } };
}
