import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import type { Metrics } from '../metrics/metrics.js';
import type { Kind, Place } from './admission.js';
import { type Admissions, LIFETIME_MS } from './admissions.js';
import type { CalledRequest } from '../http/callers.js';
import { readJsonBody } from '../http/json-body.js';
import type { ListenerCodes } from '../http/listener-codes.js';

const KIND = 'valise:kind';

/** What bounds the handler's requests; `call` where nothing is said. */
export const OfKind = (kind: Kind): MethodDecorator => SetMetadata(KIND, kind);

/**
 * Lets a request to its handler once it has a place, its body is read and its turn has come; behind the guard that knows
 * the caller. A guard and no interceptor: one interceptor costs every request more than all guards together.
 */
@Injectable()
export class AdmissionGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly codes: ListenerCodes,
    private readonly admissions: Admissions,
    private readonly metrics: Metrics,
  ) {}

  /** @throws ValiseError as the admission and the body's reader do */
  async canActivate(context: ExecutionContext): Promise<true> {
    const request = context.switchToHttp().getRequest<CalledRequest>();
    const response = context.switchToHttp().getResponse<Response>();
    const handler = context.getHandler() as () => void;
    const kind = this.reflector.get<Kind | undefined>(KIND, handler) ?? 'call';
    const place = this.admissions[kind].take(request.caller?.id ?? '');
    const cut = setTimeout(() => {
      response.destroy();
      place.rest();
    }, LIFETIME_MS[kind]);
    place.onVacated = () => {
      clearTimeout(cut);
    };
    response.once('close', () => {
      place.leave();
    });
    request.place = place;
    restWhenAnswered(response, place);
    await readJsonBody(request, handler, this.reflector, this.codes);
    const waitsSinceMs = performance.now();
    await place.turn();
    this.metrics.observe(
      'valise_admission_wait_seconds',
      { kind },
      (performance.now() - waitsSinceMs) / 1000,
    );
    return true;
  }
}

/** Once all of the answer is said, how slowly it is taken is no reason to keep the turn. */
function restWhenAnswered(response: Response, place: Place): void {
  const end = response.end.bind(response) as (...args: unknown[]) => Response;
  response.end = (...args: unknown[]): Response => {
    place.rest();
    return end(...args);
  };
}
