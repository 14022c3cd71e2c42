import type { IncomingMessage } from 'node:http';
import { parseJson } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import {
  ARTIFACT_CONTENT_TYPE,
  ArtifactUploadHeader,
  MAX_ARTIFACT_HEADER_BYTES,
  readBody,
} from '@valise/contracts/wire';

const PREFIX_BYTES = 4;

/** An upload whose header has been read; `content` yields exactly `header.byteLength` bytes, or throws. */
export interface ArtifactUpload {
  readonly header: ArtifactUploadHeader;
  readonly content: AsyncIterable<Uint8Array>;
}

/**
 * Reads the header of `application/vnd.qinglong.worker-artifact`: uint32 BE length, JSON, then the artefact's bytes.
 * @throws ValiseError unsupported_content_type, invalid_worker_request (also where Content-Length is not exact)
 */
export async function readUpload(request: IncomingMessage): Promise<ArtifactUpload> {
  if (
    request.headers['content-type'] !== ARTIFACT_CONTENT_TYPE ||
    request.headers['content-encoding'] !== undefined
  ) {
    throw new ValiseError('unsupported_content_type');
  }
  const chunks = request[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let buffered: Buffer = Buffer.alloc(0);
  const fill = async (length: number): Promise<void> => {
    while (buffered.length < length) {
      const next = await chunks.next();
      if (next.done === true) throw invalid('truncated');
      buffered = Buffer.concat([buffered, next.value]);
    }
  };
  await fill(PREFIX_BYTES);
  const headerBytes = buffered.readUInt32BE(0);
  if (headerBytes === 0 || headerBytes > MAX_ARTIFACT_HEADER_BYTES) throw invalid('header_bytes');
  await fill(PREFIX_BYTES + headerBytes);
  const json = buffered.subarray(PREFIX_BYTES, PREFIX_BYTES + headerBytes);
  const header = readBody(ArtifactUploadHeader, parseHeader(json), 'invalid_worker_request');
  const expected = PREFIX_BYTES + headerBytes + header.byteLength;
  if (Number(request.headers['content-length']) !== expected) throw invalid('content_length');
  return {
    header,
    content: exactly(header.byteLength, buffered.subarray(PREFIX_BYTES + headerBytes), chunks),
  };
}

function parseHeader(json: Buffer): unknown {
  try {
    return parseJson(json);
  } catch {
    throw invalid('json');
  }
}

async function* exactly(length: number, first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  let left = length - first.length;
  if (first.length > 0) yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
    left -= next.value.length;
    yield next.value;
  }
  if (left !== 0) throw invalid('truncated');
}

function invalid(rule: string): ValiseError {
  return new ValiseError('invalid_worker_request', { field: 'body', rule });
}
