import { Digest, Flag, Integer, LOG_ARTIFACT_ID, OneOf, Text } from './fields.js';
import { LeaseFence } from './lease.dto.js';

export const ARTIFACT_UPLOAD_SCHEMA = 'qinglong/remote-worker-artifact-upload@v1';
export const ARTIFACT_CONTENT_TYPE = 'application/vnd.qinglong.worker-artifact';
export const MAX_ARTIFACT_BYTES = 64 * 1024 * 1024;
export const MAX_ARTIFACT_HEADER_BYTES = 4 * 1024;
/** How long a worker waits for an upload to be taken, and so how long control lets one last: a slow one is not begun anew. */
export const ARTIFACT_UPLOAD_DEADLINE_MS = 600_000;

/** The JSON header of an upload; uint32 BE header length before it, the artefact's bytes after it. */
export class ArtifactUploadHeader extends LeaseFence {
  @OneOf([ARTIFACT_UPLOAD_SCHEMA])
  schema: typeof ARTIFACT_UPLOAD_SCHEMA;

  @Text({ min: 35, max: 35, pattern: LOG_ARTIFACT_ID })
  logArtifactId: string;

  @Integer(0, MAX_ARTIFACT_BYTES)
  byteLength: number;

  @Flag()
  truncated: boolean;
}

export class ArtifactUploadResponse {
  @OneOf(['stored', 'already_stored'])
  status: 'stored' | 'already_stored';

  @Integer(0, MAX_ARTIFACT_BYTES)
  byteLength: number;

  @Digest()
  sha256: string;
}

export class ArtifactReceipt {
  @Text({ min: 35, max: 35, pattern: LOG_ARTIFACT_ID })
  logArtifactId: string;

  @Integer(0, MAX_ARTIFACT_BYTES)
  byteLength: number;

  @Digest()
  sha256: string;

  @Flag()
  truncated: boolean;
}
