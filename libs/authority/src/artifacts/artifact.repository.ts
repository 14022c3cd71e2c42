import { Injectable } from '@nestjs/common';
import type { Tx } from '../database/tx.js';
import type { Artifact, Upload } from './artifact.js';

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

/** How much one statement removes: up to so many rows, and the one with which they hold so many bytes is the last. */
export interface Batch {
  readonly rows: number;
  readonly bytes: number;
}

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

  /** Takes room of the project and returns how much is taken then; other uploads of the project wait. */
  async reserve(tx: Tx, projectId: string, byteLength: number): Promise<number> {
    const rows = await tx.query<{ byte_length: number }>(
      `INSERT INTO artifact_usage (project_id, byte_length) VALUES ($1, $2)
       ON CONFLICT (project_id) DO UPDATE SET byte_length = artifact_usage.byte_length + EXCLUDED.byte_length
       RETURNING byte_length`,
      [projectId, byteLength],
    );
    return rows[0]?.byte_length ?? 0;
  }

  /** The log has this upload, whose room is reserved. */
  async beginUpload(tx: Tx, upload: Upload): Promise<void> {
    await tx.query(
      `INSERT INTO artifact_uploads (upload_id, log_artifact_id, project_id, byte_length, started_at_ms)
       VALUES ($1, $2, $3, $4, clock_ms())`,
      [upload.uploadId, upload.logArtifactId, upload.projectId, upload.byteLength],
    );
  }

  /** Removes the log's upload, if it has one, and gives back its room. */
  async removeUploadOf(tx: Tx, logArtifactId: string): Promise<void> {
    await tx.query(remove('SELECT upload_id FROM unfinished WHERE log_artifact_id = $1'), [logArtifactId]);
  }

  /** Removes the upload and gives back its room, unless it has become an artefact or is gone already. */
  async removeUpload(tx: Tx, uploadId: string): Promise<void> {
    await tx.query(remove('SELECT upload_id FROM unfinished WHERE upload_id = $1'), [uploadId]);
  }

  /** Removes some of the uploads that did not become an artefact within `lifetimeMs`; returns how many. */
  async removeAbandoned(tx: Tx, lifetimeMs: number, { rows, bytes }: Batch): Promise<number> {
    const [row] = await tx.query<{ removed: number }>(
      remove(oldest('upload_id', 'unfinished', 'started_at_ms')),
      [lifetimeMs, rows, bytes],
    );
    return row?.removed ?? 0;
  }

  /** Removes some of the artefacts that were stored `lifetimeMs` ago, the oldest first; returns how many. */
  async removeOld(tx: Tx, lifetimeMs: number, { rows, bytes }: Batch): Promise<number> {
    const [row] = await tx.query<{ removed: number }>(
      `WITH old AS MATERIALIZED (${oldest('log_artifact_id', 'artifacts', 'stored_at_ms')}),
       forgotten AS (
         DELETE FROM artifacts WHERE log_artifact_id = ANY (ARRAY(SELECT log_artifact_id FROM old))
         RETURNING upload_id),
       removed AS (
         DELETE FROM artifact_uploads WHERE upload_id = ANY (ARRAY(SELECT upload_id FROM forgotten))
         RETURNING project_id, byte_length),
       freed AS (SELECT project_id, sum(byte_length) AS bytes FROM removed GROUP BY project_id),
       given_back AS (
         UPDATE artifact_usage SET byte_length = artifact_usage.byte_length - freed.bytes
           FROM freed WHERE artifact_usage.project_id = freed.project_id)
       SELECT count(*)::int AS removed FROM removed`,
      [lifetimeMs, rows, bytes],
    );
    return row?.removed ?? 0;
  }

  /** @throws DatabaseFault of `fk_artifact_chunks_uploads` when the upload was removed */
  async appendChunk(tx: Tx, uploadId: string, ordinal: number, content: Buffer): Promise<void> {
    await tx.query('INSERT INTO artifact_chunks (upload_id, ordinal, content) VALUES ($1, $2, $3)', [
      uploadId,
      ordinal,
      content,
    ]);
  }

  /**
   * The upload is finished, and is the artefact. @throws DatabaseFault of `fk_artifacts_uploads` when it was removed
   */
  async complete(tx: Tx, artifact: Artifact): Promise<void> {
    await tx.query(
      `WITH finished AS (UPDATE artifact_uploads SET finished = true WHERE upload_id = $2)
       INSERT INTO artifacts (${ARTIFACT}, stored_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_ms())`,
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
  }

  async readChunk(tx: Tx, uploadId: string, ordinal: number): Promise<Buffer | null> {
    const rows = await tx.query<{ content: Buffer }>(
      'SELECT content FROM artifact_chunks WHERE upload_id = $1 AND ordinal = $2',
      [uploadId, ordinal],
    );
    return rows[0]?.content ?? null;
  }
}

/**
 * What is older than $1, the oldest first: up to $2 rows, while those before hold fewer than $3 bytes. The clock is
 * asked once, for an index knows nothing of a time that moves.
 */
const oldest = (id: string, table: string, time: string): string => `
  SELECT ${id} FROM (
    SELECT ${id}, sum(byte_length) OVER (ORDER BY ${time} ROWS UNBOUNDED PRECEDING) - byte_length AS before
      FROM (SELECT * FROM ${table} WHERE ${time} <= (SELECT clock_ms() - $1::bigint)
             ORDER BY ${time} LIMIT $2) AS due) AS counted
   WHERE before < $3`;

/**
 * Removes what `chosen` selects of the unfinished uploads, with its chunks, and gives back the room of each once. An
 * artefact is what makes an upload one to be kept; the mark on it is what finds the others by index, and a control of
 * the version before does not set it.
 */
const remove = (chosen: string): string => `
  WITH unfinished AS NOT MATERIALIZED (
    SELECT * FROM artifact_uploads
     WHERE NOT finished AND NOT EXISTS (SELECT FROM artifacts WHERE artifacts.upload_id = artifact_uploads.upload_id)),
  chosen AS MATERIALIZED (${chosen}),
  removed AS (
    DELETE FROM artifact_uploads WHERE NOT finished AND upload_id IN (SELECT upload_id FROM chosen)
    RETURNING project_id, byte_length),
  freed AS (SELECT project_id, sum(byte_length) AS bytes FROM removed GROUP BY project_id),
  given_back AS (
    UPDATE artifact_usage SET byte_length = byte_length - freed.bytes
      FROM freed WHERE artifact_usage.project_id = freed.project_id)
  SELECT count(*) AS removed FROM removed`;

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
