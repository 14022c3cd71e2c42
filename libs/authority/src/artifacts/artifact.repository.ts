import { Injectable } from '@nestjs/common';
import type { Tx } from '../database/transaction-runner.js';
import type { Artifact } from './artifact.js';

interface ArtifactRow {
  log_artifact_id: string;
  upload_id: string;
  project_id: string;
  run_id: string;
  attempt_id: string;
  byte_length: number;
  sha256: string;
  truncated: boolean;
}

const ARTIFACT = 'log_artifact_id, upload_id, project_id, run_id, attempt_id, byte_length, sha256, truncated';

/** Log artefacts. An upload is nobody's to see until it has become one. */
@Injectable()
export class ArtifactRepository {
  async find(tx: Tx, logArtifactId: string): Promise<Artifact | null> {
    return artifactOf(
      await tx.query<ArtifactRow>(`SELECT ${ARTIFACT} FROM artifacts WHERE log_artifact_id = $1`, [
        logArtifactId,
      ]),
    );
  }

  /** The newest artefact of an attempt: each of its claims may have left one. */
  async findOfAttempt(tx: Tx, projectId: string, runId: string, attemptId: string): Promise<Artifact | null> {
    return artifactOf(
      await tx.query<ArtifactRow>(
        `SELECT ${ARTIFACT} FROM artifacts WHERE attempt_id = $1 AND run_id = $2 AND project_id = $3
          ORDER BY stored_at_ms DESC, log_artifact_id LIMIT 1`,
        [attemptId, runId, projectId],
      ),
    );
  }

  async readUsage(tx: Tx, projectId: string): Promise<number> {
    const rows = await tx.query<{ byte_length: number }>(
      'SELECT byte_length FROM artifact_usage WHERE project_id = $1',
      [projectId],
    );
    return rows[0]?.byte_length ?? 0;
  }

  /** Adds to what the project uses and returns the sum; other uploads of the project wait. */
  async addUsage(tx: Tx, projectId: string, byteLength: number): Promise<number> {
    const rows = await tx.query<{ byte_length: number }>(
      `INSERT INTO artifact_usage (project_id, byte_length) VALUES ($1, $2)
       ON CONFLICT (project_id) DO UPDATE SET byte_length = artifact_usage.byte_length + EXCLUDED.byte_length
       RETURNING byte_length`,
      [projectId, byteLength],
    );
    return rows[0]?.byte_length ?? 0;
  }

  async beginUpload(tx: Tx, uploadId: string, logArtifactId: string): Promise<void> {
    await tx.query(
      'INSERT INTO artifact_uploads (upload_id, log_artifact_id, started_at_ms) VALUES ($1, $2, clock_ms())',
      [uploadId, logArtifactId],
    );
  }

  async appendChunk(tx: Tx, uploadId: string, ordinal: number, content: Buffer): Promise<void> {
    await tx.query('INSERT INTO artifact_chunks (upload_id, ordinal, content) VALUES ($1, $2, $3)', [
      uploadId,
      ordinal,
      content,
    ]);
  }

  /** The upload is the artefact, unless another upload has become it: then false. */
  async complete(tx: Tx, artifact: Artifact): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO artifacts (${ARTIFACT}, stored_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_ms())
       ON CONFLICT DO NOTHING RETURNING true AS stored`,
      [
        artifact.logArtifactId,
        artifact.uploadId,
        artifact.projectId,
        artifact.runId,
        artifact.attemptId,
        artifact.byteLength,
        artifact.sha256,
        artifact.truncated,
      ],
    );
    return rows.length > 0;
  }

  async readChunk(tx: Tx, uploadId: string, ordinal: number): Promise<Buffer | null> {
    const rows = await tx.query<{ content: Buffer }>(
      'SELECT content FROM artifact_chunks WHERE upload_id = $1 AND ordinal = $2',
      [uploadId, ordinal],
    );
    return rows[0]?.content ?? null;
  }

  /** Removes up to `limit` uploads that did not become an artefact within `lifetimeMs`; returns how many. */
  async removeAbandoned(tx: Tx, lifetimeMs: number, limit: number): Promise<number> {
    const rows = await tx.query(
      `WITH abandoned AS MATERIALIZED (
         SELECT upload_id FROM artifact_uploads
          WHERE started_at_ms <= clock_ms() - $1::bigint
            AND NOT EXISTS (SELECT FROM artifacts WHERE artifacts.upload_id = artifact_uploads.upload_id)
          ORDER BY started_at_ms LIMIT $2)
       DELETE FROM artifact_uploads WHERE upload_id IN (SELECT upload_id FROM abandoned) RETURNING upload_id`,
      [lifetimeMs, limit],
    );
    return rows.length;
  }
}

function artifactOf([row]: ArtifactRow[]): Artifact | null {
  if (!row) return null;
  return {
    logArtifactId: row.log_artifact_id,
    uploadId: row.upload_id,
    projectId: row.project_id,
    runId: row.run_id,
    attemptId: row.attempt_id,
    byteLength: row.byte_length,
    sha256: row.sha256,
    truncated: row.truncated,
  };
}
