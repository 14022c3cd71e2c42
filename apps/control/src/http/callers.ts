import { createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import type { Operator } from '@valise/authority';
import type { Request } from 'express';
import type { WorkerSessionPath } from '@valise/contracts/wire';
import type { Place } from '../admission/admission.js';
import type { CallerIdentity } from '../tls/client-trust.js';
import type { Role } from '../config/operators.js';

/** Who may call a route: the worker its path names, any known operator, or an operator with at least this role. */
export type Callers = 'worker' | 'operator' | Role;

const CALLERS = 'valise:callers';

/** Names a route's callers. A route without it may be called by nobody. */
export const Callers = (callers: Callers): MethodDecorator & ClassDecorator => SetMetadata(CALLERS, callers);

/** The callers that the route of `context` names; undefined means nobody. */
export function callersOf(reflector: Reflector, context: ExecutionContext): Callers | undefined {
  return reflector.getAllAndOverride<Callers | undefined>(CALLERS, [
    context.getHandler(),
    context.getClass(),
  ]);
}

/** A request after its guard: the identity stands in the certificate, never in body, header or path. */
export interface CalledRequest extends Request {
  caller?: CallerIdentity;
  /** SHA-256 of the body as it was received. */
  bodyDigest?: string;
  /** The attempt that the body names, where it has the shape of an id of ours. */
  attemptId?: string;
  /** What the admission gave it. */
  place?: Place;
}

/** A worker, in the session its path names. */
export interface WorkerCaller extends WorkerSessionPath {
  readonly certificateSerial: string;
}

/** The caller, as the guard found it. */
export const Caller = createParamDecorator(
  (_: unknown, context: ExecutionContext): WorkerCaller | Operator => {
    const request = context.switchToHttp().getRequest<CalledRequest>();
    const { caller, params } = request;
    if (!caller) throw new Error('a route without a guard has no caller');
    if (caller.kind === 'operator') return { operatorId: caller.id };
    return {
      workerId: caller.id,
      sessionId: String(params.sessionId),
      certificateSerial: caller.certificateSerial,
    };
  },
);

/** SHA-256 of the request's body, for the record of what was asked. */
export const BodyDigest = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const { bodyDigest } = context.switchToHttp().getRequest<CalledRequest>();
  if (bodyDigest === undefined) throw new Error('the body was not read');
  return bodyDigest;
});

/** The request's place, so that a handler may end its turn before its answer has left. */
export const RequestPlace = createParamDecorator((_: unknown, context: ExecutionContext): Place => {
  const { place } = context.switchToHttp().getRequest<CalledRequest>();
  if (!place) throw new Error('a listener without admission has no places');
  return place;
});
