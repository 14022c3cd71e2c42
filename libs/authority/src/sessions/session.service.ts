import { Injectable } from '@nestjs/common';
import {
  SESSION_HEARTBEAT_SCHEMA,
  SESSION_REGISTER_SCHEMA,
  SESSION_TRANSITION_SCHEMA,
  type SessionHeartbeatRequest,
  type SessionHeartbeatResponse,
  type SessionRegisterRequest,
  type SessionRegisterResponse,
  type SessionTransitionRequest,
  type SessionTransitionResponse,
} from '@valise/contracts/wire';
import { INGRESS } from '../database/isolation.js';
import { TransactionRunner } from '../database/transaction-runner.js';
import { LeaseRepository } from '../leases/lease.repository.js';
import { WorkerRepository } from '../workers/worker.repository.js';
import {
  assertHeartbeat,
  decideRegistration,
  decideTransition,
  type Session,
  type WorkerSessionKey,
} from './session.js';
import { SessionRepository } from './session.repository.js';

/** A worker's life: registering, signs of life, draining and leaving. */
@Injectable()
export class SessionService {
  constructor(
    private readonly transactions: TransactionRunner,
    private readonly workers: WorkerRepository,
    private readonly sessions: SessionRepository,
    private readonly leases: LeaseRepository,
  ) {}

  /**
   * The session is the worker's newest and online. Leases of the session it replaced are expired.
   * @throws ValiseError worker_identity_mismatch, worker_session_fenced
   */
  register(key: WorkerSessionKey, request: SessionRegisterRequest): Promise<SessionRegisterResponse> {
    return this.transactions.run(INGRESS, async (tx) => {
      const before = await this.sessions.lock(tx, key.workerId);
      const worker = await this.workers.find(tx, key.workerId);
      const nowMs = await this.sessions.readClock(tx);
      const registration = decideRegistration(worker?.status ?? null, before, key.sessionId, request, nowMs);
      if (registration === 'replaces' && before?.sessionId) {
        await this.leases.expireOfSession(tx, key.workerId, before.sessionId);
      }
      const session =
        registration === 'resumes'
          ? await this.sessions.resume(tx, key, request)
          : await this.sessions.begin(tx, key, request);
      return {
        schema: SESSION_REGISTER_SCHEMA,
        ...stateOf(key, session),
        replacedSession: registration === 'replaces',
      };
    });
  }

  /** The session lives `leaseDurationMs` from now. @throws ValiseError worker_session_fenced */
  heartbeat(key: WorkerSessionKey, request: SessionHeartbeatRequest): Promise<SessionHeartbeatResponse> {
    return this.transactions.run(INGRESS, async (tx) => {
      assertHeartbeat(await this.sessions.lock(tx, key.workerId), key.sessionId, request);
      const session = await this.sessions.extend(tx, key, request);
      return { schema: SESSION_HEARTBEAT_SCHEMA, ...stateOf(key, session) };
    });
  }

  /**
   * The session claims nothing any more; what it holds goes on. @throws ValiseError worker_session_fenced
   */
  transition(key: WorkerSessionKey, request: SessionTransitionRequest): Promise<SessionTransitionResponse> {
    return this.transactions.run(INGRESS, async (tx) => {
      const before = await this.sessions.lock(tx, key.workerId);
      const moves = decideTransition(before, key.sessionId, request) === 'moves';
      const session = moves || !before ? await this.sessions.move(tx, key, request.status) : before;
      return { schema: SESSION_TRANSITION_SCHEMA, ...stateOf(key, session) };
    });
  }
}

function stateOf(key: WorkerSessionKey, session: Session): Omit<SessionTransitionResponse, 'schema'> {
  return {
    workerId: key.workerId,
    sessionId: key.sessionId,
    generation: session.generation,
    version: session.version,
    status: session.status,
    leaseExpiresAtMs: session.expiresAtMs,
  };
}
