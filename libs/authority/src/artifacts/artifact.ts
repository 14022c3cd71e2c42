import { logArtifactId } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import type { ArtifactUploadHeader } from '@valise/contracts/wire';
import type { Execution } from '../attempts/execution.js';
import { standing, type Claimant } from '../leases/holder.js';
import type { WorkerSessionKey } from '../sessions/session.js';
import { isRevoked } from '../workers/worker.js';

/** A log that is on its way, with the room it takes. A log has one at a time. */
export interface Upload {
  readonly uploadId: string;
  readonly logArtifactId: string;
  readonly projectId: string;
  readonly byteLength: number;
}

/** A complete log artefact. */
export interface Artifact {
  readonly logArtifactId: string;
  readonly uploadId: string;
  readonly projectId: string;
  readonly runId: string;
  readonly attemptId: string;
  readonly byteLength: number;
  readonly sha256: string;
  readonly truncated: boolean;
}

export const CHUNK_BYTES = 1024 * 1024;

/**
 * Passes an upload of the claim's own log by holder or former holder of an attempt that may have run; one that has
 * ended since may only send again what is stored.
 * @throws ValiseError worker_artifact_fenced
 */
export function assertMayUpload(
  key: WorkerSessionKey,
  header: ArtifactUploadHeader,
  execution: Execution,
  claimant: Claimant,
  stored: Artifact | null,
): void {
  const fenced = (rule: string): never => {
    throw new ValiseError('worker_artifact_fenced', { rule });
  };
  const { run, attempt, lease } = execution;
  const { runId, attemptId, offerId } = header;
  const position = standing(key, header, lease, claimant);
  if (position === 'stranger') fenced(position);
  if (header.logArtifactId !== logArtifactId({ projectId: run.projectId, runId, attemptId, offerId })) {
    fenced('log_artifact');
  }
  if (isRevoked(claimant.workerStatus)) fenced('revoked');
  if (stored) return;
  if (position === 'past') fenced(position);
  if (header.expectedLeaseVersion > lease.version) fenced('version');
  if (attempt.status !== 'starting' && attempt.status !== 'running') fenced('not_started');
}

/** Passes what a project takes with one more upload. @throws ValiseError request_too_large */
export function assertWithinQuota(takenBytes: number, quotaBytes: number): void {
  if (takenBytes > quotaBytes) {
    throw new ValiseError('request_too_large', {
      rule: 'project_quota',
      limit: quotaBytes,
      actual: takenBytes,
    });
  }
}

/** Cuts a stream into pieces of exactly `size` bytes, the last one shorter. */
export async function* cut(content: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Buffer> {
  let parts: Uint8Array[] = [];
  let held = 0;
  for await (const part of content) {
    let rest = part;
    while (held + rest.length >= size) {
      const taken = size - held;
      yield Buffer.concat([...parts, rest.subarray(0, taken)], size);
      rest = rest.subarray(taken);
      parts = [];
      held = 0;
    }
    if (rest.length > 0) {
      parts.push(Buffer.from(rest));
      held += rest.length;
    }
  }
  if (held > 0) yield Buffer.concat(parts, held);
}
