import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
} from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { finalize, type Observable } from 'rxjs';
import type { Metrics } from '../metrics/metrics.js';
import type { Kind } from './admission.js';
import { type Admissions, LIFETIME_MS } from './admissions.js';
import type { CalledRequest } from '../http/callers.js';
import { readJsonBody } from '../http/json-body.js';
import type { ListenerCodes } from '../http/listener-codes.js';

const KIND = 'valise:kind';

/** What bounds the handler's requests; `call` where nothing is said. */
export const OfKind = (kind: Kind): MethodDecorator => SetMetadata(KIND, kind);

/** Lets a request to its handler once it has a place, its body is read and its turn has come. */
@Injectable()
export class AdmissionInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly codes: ListenerCodes,
    private readonly admissions: Admissions,
    private readonly metrics: Metrics,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<CalledRequest>();
    const response = context.switchToHttp().getResponse<Response>();
    const handler = context.getHandler() as () => void;
    const kind = this.reflector.get<Kind | undefined>(KIND, handler) ?? 'call';
    const place = this.admissions[kind].take(request.caller?.id ?? '');
    const cut = setTimeout(() => {
      response.destroy();
    }, LIFETIME_MS[kind]);
    response.once('close', () => {
      clearTimeout(cut);
      place.leave();
    });
    request.place = place;
    await readJsonBody(request, handler, this.reflector, this.codes);
    const waitsSinceMs = performance.now();
    await place.turn();
    this.metrics.observe(
      'valise_admission_wait_seconds',
      { kind },
      (performance.now() - waitsSinceMs) / 1000,
    );
    return next.handle().pipe(
      finalize(() => {
        place.rest();
      }),
    );
  }
}
