import { createHash, randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ValiseError } from '@valise/contracts/failure';
import type { ArtifactUploadHeader, ArtifactUploadResponse } from '@valise/contracts/wire';
import type { Execution } from '../attempts/execution.js';
import { DatabaseFault } from '../database/database-fault.js';
import { INGRESS, MANAGEMENT } from '../database/isolation.js';
import { TransactionRunner, type TransactionOptions } from '../database/transaction-runner.js';
import type { Tx } from '../database/tx.js';
import { ClaimGate } from '../leases/claim-gate.js';
import type { WorkerSessionKey } from '../sessions/session.js';
import { AUTHORITY_SETTINGS, type AuthoritySettings } from '../settings.js';
import { assertMayUpload, assertWithinQuota, CHUNK_BYTES, cut, type Artifact } from './artifact.js';
import { ArtifactRepository } from './artifact.repository.js';
import { TransferShare } from './transfer-share.js';

/** A stored log. */
export interface OpenArtifact {
  readonly logArtifactId: string;
  readonly byteLength: number;
  readonly sha256: string;
  readonly truncated: boolean;
  /** Its bytes from `start` to before `end`, as they are read. */
  read(start: number, end: number): AsyncIterable<Buffer>;
}

/** Log artefacts in PostgreSQL, a mebibyte at a time; no transaction is open while bytes are waited for. */
@Injectable()
export class ArtifactService {
  constructor(
    private readonly transactions: TransactionRunner,
    private readonly artifacts: ArtifactRepository,
    private readonly gate: ClaimGate,
    private readonly share: TransferShare,
    @Inject(AUTHORITY_SETTINGS) private readonly settings: AuthoritySettings,
  ) {}

  /**
   * The claim's log is stored as a whole, or not at all. The fence is checked before the first byte and after the last.
   * From the first byte on the log takes its project's room, and ends an upload of the same log that began before; what
   * fails or is left by its sender is removed at once.
   * @throws ValiseError worker_artifact_fenced, also for other bytes than the stored ones; invalid_worker_request for
   * more or fewer bytes than announced; request_too_large when the project has no room; worker_ingress_unavailable when
   * a later upload of the log, or the sweeper, has ended this one
   */
  async store(
    key: WorkerSessionKey,
    header: ArtifactUploadHeader,
    content: AsyncIterable<Uint8Array>,
  ): Promise<ArtifactUploadResponse> {
    const uploadId = randomUUID();
    const stored = await this.run(INGRESS, (tx) => this.admit(tx, key, header, uploadId));
    if (stored)
      return sameAs(stored, await this.receive(header.byteLength, content, () => Promise.resolve()));
    try {
      const sha256 = await this.receive(header.byteLength, content, (ordinal, chunk) =>
        this.run(INGRESS, (tx) => this.artifacts.appendChunk(tx, uploadId, ordinal, chunk)),
      );
      return await this.run(INGRESS, (tx) => this.complete(tx, key, header, uploadId, sha256));
    } catch (error) {
      await this.discard(uploadId);
      if (!isEndedUpload(error)) throw error;
      const { idleRetryAfterMs: retryAfterMs } = this.settings;
      throw new ValiseError('worker_ingress_unavailable', { rule: 'upload_ended', retryAfterMs });
    }
  }

  /** The newest log of the attempt, or null. */
  async open(projectId: string, runId: string, attemptId: string): Promise<OpenArtifact | null> {
    const artifact = await this.run(MANAGEMENT, (tx) =>
      this.artifacts.findOfAttempt(tx, projectId, runId, attemptId),
    );
    if (!artifact) return null;
    const { logArtifactId, byteLength, sha256, truncated } = artifact;
    const read = (start: number, end: number): AsyncIterable<Buffer> =>
      this.read(artifact.uploadId, start, end);
    return { logArtifactId, byteLength, sha256, truncated, read };
  }

  private async admit(
    tx: Tx,
    key: WorkerSessionKey,
    header: ArtifactUploadHeader,
    uploadId: string,
  ): Promise<Artifact | null> {
    const { stored, execution } = await this.checkFence(tx, key, header);
    if (stored) return stored;
    const { projectId } = execution.run;
    const { logArtifactId, byteLength } = header;
    await this.artifacts.removeUploadOf(tx, logArtifactId);
    const taken = await this.artifacts.reserve(tx, projectId, byteLength);
    assertWithinQuota(taken, this.settings.artifactQuotaBytes);
    await this.artifacts.beginUpload(tx, { uploadId, logArtifactId, projectId, byteLength });
    return null;
  }

  private run<T>(options: TransactionOptions, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.share.run(() => this.transactions.run(options, work));
  }

  /** The upload is gone. Where that cannot be, the sweeper finds it later. */
  private async discard(uploadId: string): Promise<void> {
    await this.run(INGRESS, (tx) => this.artifacts.removeUpload(tx, uploadId)).catch(() => undefined);
  }

  private async complete(
    tx: Tx,
    key: WorkerSessionKey,
    header: ArtifactUploadHeader,
    uploadId: string,
    sha256: string,
  ): Promise<ArtifactUploadResponse> {
    const { stored, execution } = await this.checkFence(tx, key, header);
    if (stored) return sameAs(stored, sha256);
    const { logArtifactId, runId, attemptId, byteLength, truncated } = header;
    const { projectId } = execution.run;
    await this.artifacts.complete(tx, {
      logArtifactId,
      uploadId,
      projectId,
      runId,
      attemptId,
      byteLength,
      sha256,
      truncated,
    });
    return { status: 'stored', byteLength, sha256 };
  }

  /** With the run locked, nobody else completes an upload of the same claim. */
  private async checkFence(
    tx: Tx,
    key: WorkerSessionKey,
    header: ArtifactUploadHeader,
  ): Promise<{ stored: Artifact | null; execution: Execution }> {
    const { execution, claimant } = await this.gate.lock(tx, key, header, 'worker_artifact_fenced');
    const stored = await this.artifacts.find(tx, header.logArtifactId);
    assertMayUpload(key, header, execution, claimant, stored);
    return { stored, execution };
  }

  private async receive(
    byteLength: number,
    content: AsyncIterable<Uint8Array>,
    keep: (ordinal: number, chunk: Buffer) => Promise<void>,
  ): Promise<string> {
    const hash = createHash('sha256');
    let actual = 0;
    let ordinal = 0;
    for await (const chunk of cut(content, CHUNK_BYTES)) {
      actual += chunk.length;
      if (actual > byteLength) break;
      hash.update(chunk);
      await keep(ordinal, chunk);
      ordinal += 1;
    }
    if (actual !== byteLength) {
      throw new ValiseError('invalid_worker_request', {
        field: 'byteLength',
        rule: 'exact',
        limit: byteLength,
      });
    }
    return hash.digest('hex');
  }

  private async *read(uploadId: string, start: number, end: number): AsyncGenerator<Buffer> {
    for (let ordinal = Math.floor(start / CHUNK_BYTES); ordinal * CHUNK_BYTES < end; ordinal += 1) {
      const chunk = await this.run(MANAGEMENT, (tx) => this.artifacts.readChunk(tx, uploadId, ordinal));
      if (!chunk) throw new ValiseError('not_found', { subject: 'artifact' });
      const offset = ordinal * CHUNK_BYTES;
      yield chunk.subarray(Math.max(0, start - offset), end - offset);
    }
  }
}

const OF_AN_UPLOAD: ReadonlySet<string> = new Set(['fk_artifact_chunks_uploads', 'fk_artifacts_uploads']);

/** Whether the upload's row was removed while it went on. */
function isEndedUpload(error: unknown): boolean {
  return error instanceof DatabaseFault && error.constraint !== null && OF_AN_UPLOAD.has(error.constraint);
}

/** The answer to an upload of what is stored already. @throws ValiseError worker_artifact_fenced for other bytes */
function sameAs(stored: Artifact, sha256: string): ArtifactUploadResponse {
  if (stored.sha256 !== sha256) throw new ValiseError('worker_artifact_fenced', { rule: 'other_content' });
  return { status: 'already_stored', byteLength: stored.byteLength, sha256 };
}
