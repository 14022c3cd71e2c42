import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ValiseError } from '@valise/contracts/failure';
import { readBody, WorkerSessionPath } from '@valise/contracts/wire';
import { Transport } from '../tls/transport.js';
import { type CalledRequest, callersOf } from './callers.js';

/** Lets a worker reach the routes of its own path, and nobody else reach anything. Global in the ingress. */
@Injectable()
export class WorkerCertificateGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly transport: Transport,
  ) {}

  /** @throws ValiseError worker_authentication_required, worker_identity_mismatch, invalid_worker_request, revocation_unavailable */
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<CalledRequest>();
    const caller = this.transport.callerOf(request);
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
