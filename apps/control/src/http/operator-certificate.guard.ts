import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ValiseError } from '@valise/contracts/failure';
import type { LiveFiles } from '../config/live-files.js';
import { OPERATORS, type Operators } from '../config/operators.js';
import { Transport } from '../tls/transport.js';
import { type CalledRequest, callersOf, type Callers } from './callers.js';

/** Lets an operator reach what its role in the path's project allows. Global in management. */
@Injectable()
export class OperatorCertificateGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    @Inject(OPERATORS) private readonly operators: LiveFiles<Operators>,
    private readonly transport: Transport,
  ) {}

  /** @throws ValiseError operator_authentication_required, operator_not_permitted, revocation_unavailable */
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<CalledRequest>();
    const caller = this.transport.callerOf(request);
    if (caller) request.caller = caller;
    if (caller?.kind !== 'operator') throw new ValiseError('operator_authentication_required');
    const callers = callersOf(this.reflector, context);
    if (!this.permits(caller.id, callers, request)) throw new ValiseError('operator_not_permitted');
    return true;
  }

  private permits(operatorId: string, callers: Callers | undefined, request: CalledRequest): boolean {
    if (callers === undefined || callers === 'worker') return false;
    const operators = this.operators.current;
    if (callers === 'operator') return operators.isKnown(operatorId);
    // A path without a project concerns all of them.
    const { projectId } = request.params;
    return operators.permits(operatorId, typeof projectId === 'string' ? projectId : '*', callers);
  }
}
