import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Observable } from 'rxjs';
import { parseJson, sha256Hex } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import { readBoundedBody } from './bounded-body.js';
import type { CalledRequest } from './callers.js';
import { ListenerCodes } from './listener-codes.js';

const MAX_JSON_BYTES = 64 * 1024;
const MAX_TASK_BYTES = 96 * 1024;
const BODY_DEADLINE_MS = 10_000;

const WITH_BODY = new Set(['POST', 'PUT']);

const BODY = 'valise:body';

/** The handler reads the request's body itself, as a stream. */
export const StreamedBody = (): MethodDecorator => SetMetadata(BODY, 'stream');

/** The body holds a task's specification (64 KiB) with what belongs to it. */
export const TaskBody = (): MethodDecorator => SetMetadata(BODY, 'task');

/** Reads the body of a request that its guard has let through, parses it strictly and zeroes the bytes. */
@Injectable()
export class JsonBodyInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly codes: ListenerCodes,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<CalledRequest>();
    const kind = this.reflector.get<'stream' | 'task' | undefined>(BODY, context.getHandler());
    if (kind !== 'stream' && WITH_BODY.has(request.method)) {
      await this.read(request, kind === 'task' ? MAX_TASK_BYTES : MAX_JSON_BYTES);
    }
    return next.handle();
  }

  private async read(request: CalledRequest, limit: number): Promise<void> {
    assertJsonContent(request);
    const bytes = await readBoundedBody(request, limit, BODY_DEADLINE_MS);
    try {
      request.bodyDigest = sha256Hex(bytes);
      request.body = parseJson(bytes);
    } catch (error) {
      throw new ValiseError(this.codes.invalid, error instanceof ValiseError ? error.facts : {});
    } finally {
      bytes.fill(0);
    }
  }
}

/** @throws ValiseError unsupported_content_type, also for any content coding */
function assertJsonContent(request: CalledRequest): void {
  const [type] = (request.headers['content-type'] ?? '').split(';');
  const coded = request.headers['content-encoding'] !== undefined;
  if (coded || type?.trim().toLowerCase() !== 'application/json')
    throw new ValiseError('unsupported_content_type');
}
