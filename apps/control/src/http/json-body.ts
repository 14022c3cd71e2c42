import { SetMetadata } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import { parseJson, sha256Hex } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import { readBoundedBody } from './bounded-body.js';
import type { CalledRequest } from './callers.js';
import type { ListenerCodes } from './listener-codes.js';

const MAX_JSON_BYTES = 64 * 1024;
const MAX_TASK_BYTES = 96 * 1024;
const BODY_DEADLINE_MS = 10_000;

const WITH_BODY = new Set(['POST', 'PUT']);

/** Attempts have ids of ours; anything else that a body calls one is its sender's text. */
const ATTEMPT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const BODY = 'valise:body';

/** The handler reads the request's body itself, as a stream. */
export const StreamedBody = (): MethodDecorator => SetMetadata(BODY, 'stream');

/** The body holds a task's specification (64 KiB) with what belongs to it. */
export const TaskBody = (): MethodDecorator => SetMetadata(BODY, 'task');

/**
 * Reads the body of a request that its guard has let through, as `handler` takes it: parsed strictly, the bytes zeroed.
 * @throws ValiseError unsupported_content_type, request_too_large, request_timeout, or the listener's own code
 */
export async function readJsonBody(
  request: CalledRequest,
  handler: () => void,
  reflector: Reflector,
  codes: ListenerCodes,
): Promise<void> {
  const kind = reflector.get<'stream' | 'task' | undefined>(BODY, handler);
  if (kind === 'stream' || !WITH_BODY.has(request.method)) return;
  assertJsonContent(request);
  const limit = kind === 'task' ? MAX_TASK_BYTES : MAX_JSON_BYTES;
  const bytes = await readBoundedBody(request, limit, BODY_DEADLINE_MS);
  try {
    request.bodyDigest = sha256Hex(bytes);
    request.body = parseJson(bytes);
    const attemptId = attemptIdOf(request.body);
    if (attemptId !== undefined) request.attemptId = attemptId;
  } catch (error) {
    throw new ValiseError(codes.invalid, error instanceof ValiseError ? error.facts : {});
  } finally {
    bytes.fill(0);
  }
}

function attemptIdOf(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('attemptId' in body)) return undefined;
  const { attemptId } = body;
  return typeof attemptId === 'string' && ATTEMPT_ID.test(attemptId) ? attemptId : undefined;
}

/** @throws ValiseError unsupported_content_type, also for any content coding */
function assertJsonContent(request: CalledRequest): void {
  const [type] = (request.headers['content-type'] ?? '').split(';');
  const coded = request.headers['content-encoding'] !== undefined;
  if (coded || type?.trim().toLowerCase() !== 'application/json')
    throw new ValiseError('unsupported_content_type');
}
