import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ValiseError } from '@valise/contracts/failure';
import { readBody, WorkerSessionPath } from '@valise/contracts/wire';
import { ControlConfig } from '../config/control-config.js';
import { callerIdentity } from '../tls/caller-identity.js';
import { type CalledRequest, callersOf } from './callers.js';

/** Lets a worker reach the routes of its own path, and nobody else reach anything. Global in the ingress. */
@Injectable()
export class WorkerCertificateGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly config: ControlConfig,
  ) {}

  /** @throws ValiseError worker_authentication_required, worker_identity_mismatch, invalid_worker_request */
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<CalledRequest>();
    const caller = callerIdentity(request, this.config.trustDomain, Date.now());
    if (caller) request.caller = caller;
    if (caller?.kind !== 'worker') throw new ValiseError('worker_authentication_required');
    const callers = callersOf(this.reflector, context);
    if (callers !== 'worker' || request.params.workerId !== caller.id)
      throw new ValiseError('worker_identity_mismatch');
    // The wire has no query; one would be an unknown key that nobody refused.
    if (request.originalUrl.includes('?'))
      throw new ValiseError('invalid_worker_request', { field: 'query', rule: 'unknown_key' });
    readBody(WorkerSessionPath, { ...request.params }, 'invalid_worker_request');
    return true;
  }
}
