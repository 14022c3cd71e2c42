import type { RunStatus } from '@valise/contracts/wire';
import type { Lease, Run } from './execution.js';

/** A run as it comes from the table. */
export interface RunRow {
  run_id: string;
  project_id: string;
  task_id: string;
  task_revision: string;
  run_status: RunStatus;
  priority: number;
  newest_attempt_number: number;
  cancel_requested_at_ms: number | null;
  stop_requested_at_ms: number | null;
  deadline_at_ms: number | null;
}

export const runColumns = (runs: string): string => `${runs}.run_id, ${runs}.project_id, ${runs}.task_id,
  ${runs}.task_revision, ${runs}.status AS run_status, ${runs}.priority, ${runs}.newest_attempt_number,
  ${runs}.cancel_requested_at_ms, ${runs}.stop_requested_at_ms, ${runs}.deadline_at_ms`;

export function runOf(row: RunRow): Run {
  return {
    runId: row.run_id,
    projectId: row.project_id,
    taskId: row.task_id,
    taskRevision: row.task_revision,
    status: row.run_status,
    priority: row.priority,
    newestAttemptNumber: row.newest_attempt_number,
    cancelRequestedAtMs: row.cancel_requested_at_ms,
    stopRequestedAtMs: row.stop_requested_at_ms,
    deadlineAtMs: row.deadline_at_ms,
  };
}

/** A lease as it comes from the table. */
export interface LeaseRow {
  state: Lease['state'];
  generation: number;
  version: number;
  worker_id: string | null;
  session_id: string | null;
  worker_generation: number | null;
  offer_id: string | null;
  token_digest: string | null;
  acquired_at_ms: number;
  renewed_at_ms: number;
  expires_at_ms: number;
  updated_at_ms: number;
  authorisations: number;
  custody_failures: number;
  open_since_ms: number | null;
}

export const leaseColumns = (
  leases: string,
): string => `${leases}.state, ${leases}.generation, ${leases}.version, ${leases}.worker_id,
  ${leases}.session_id, ${leases}.worker_generation, ${leases}.offer_id, ${leases}.token_digest,
  ${leases}.acquired_at_ms, ${leases}.renewed_at_ms, ${leases}.expires_at_ms, ${leases}.updated_at_ms,
  ${leases}.authorisations, ${leases}.custody_failures, ${leases}.open_since_ms`;

export function leaseOf(row: LeaseRow): Lease {
  return {
    state: row.state,
    generation: row.generation,
    version: row.version,
    workerId: row.worker_id,
    sessionId: row.session_id,
    workerGeneration: row.worker_generation,
    offerId: row.offer_id,
    tokenDigest: row.token_digest,
    acquiredAtMs: row.acquired_at_ms,
    renewedAtMs: row.renewed_at_ms,
    expiresAtMs: row.expires_at_ms,
    updatedAtMs: row.updated_at_ms,
    authorisations: row.authorisations,
    custodyFailures: row.custody_failures,
    openSinceMs: row.open_since_ms,
  };
}
