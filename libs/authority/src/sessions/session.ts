import { ValiseError } from '@valise/contracts/failure';
import type {
  SessionHeartbeatRequest,
  SessionRegisterRequest,
  SessionStatus,
  SessionTransitionRequest,
  WorkerStatus,
} from '@valise/contracts/wire';
import { isRevoked } from '../workers/worker.js';

/** Who calls: the certificate's worker, in the session that the path names. */
export interface WorkerSessionKey {
  readonly workerId: string;
  readonly sessionId: string;
}

/** The worker's current life. Generation 0 has no sessionId: the worker never registered. */
export interface Session {
  readonly workerId: string;
  readonly sessionId: string | null;
  readonly generation: number;
  readonly version: number;
  readonly status: SessionStatus;
  readonly expiresAtMs: number;
  readonly capabilitiesJson: string | null;
  readonly capabilitiesHash: string | null;
  readonly maxConcurrentRuns: number;
  readonly availableSlots: number;
  /** Leases the session held when it said how many slots it has. */
  readonly leasesAtReport: number;
  readonly leaseDurationMs: number;
}

/** How far ahead of the database's clock the time in a session id may be. */
const MAX_AHEAD_MS = 86_400_000;

export type Registration = 'begins' | 'resumes' | 'replaces';

/**
 * What registering does. The newest session id resumes with the capabilities it had, whatever its status or expiry;
 * a larger one (UUIDv7: a later one) replaces it. One that lies in the future would lock out every one after it.
 * @throws ValiseError worker_identity_mismatch for a worker that no operator allows; worker_session_fenced for a
 * session id that has ended or sorts before the newest, comes with other capabilities, or is a day ahead of `nowMs`
 * (database clock)
 */
export function decideRegistration(
  workerStatus: WorkerStatus | null,
  session: Session | null,
  sessionId: string,
  request: Pick<SessionRegisterRequest, 'capabilitiesHash'>,
  nowMs: number,
): Registration {
  if (isRevoked(workerStatus) || !session) {
    throw new ValiseError('worker_identity_mismatch', { rule: 'registry' });
  }
  if (session.sessionId !== sessionId && timeOf(sessionId) > nowMs + MAX_AHEAD_MS) {
    throw new ValiseError('worker_session_fenced', { rule: 'future' });
  }
  if (session.sessionId === null) return 'begins';
  if (sessionId > session.sessionId) return 'replaces';
  if (sessionId < session.sessionId) throw new ValiseError('worker_session_fenced', { rule: 'replaced' });
  if (request.capabilitiesHash !== session.capabilitiesHash) {
    throw new ValiseError('worker_session_fenced', { rule: 'capabilities' });
  }
  return 'resumes';
}

/**
 * Passes a sign of life of the worker's newest session that has not ended. A late one is fine: it only moves expiry.
 * @throws ValiseError worker_session_fenced
 */
export function assertHeartbeat(
  session: Session | null,
  sessionId: string,
  request: Pick<SessionHeartbeatRequest, 'generation' | 'expectedVersion'>,
): void {
  const current = assertCurrent(session, sessionId, request.generation);
  if (current.status === 'offline') throw new ValiseError('worker_session_fenced', { rule: 'offline' });
  if (request.expectedVersion > current.version) {
    throw new ValiseError('worker_session_fenced', { rule: 'version' });
  }
}

const ORDER: Readonly<Record<SessionStatus, number>> = { online: 0, draining: 1, offline: 2 };

/**
 * Whether the transition still has to be made: a session only goes forward, and a repeat finds it there already.
 * @throws ValiseError worker_session_fenced for another session, or another version than the current one
 */
export function decideTransition(
  session: Session | null,
  sessionId: string,
  request: Pick<SessionTransitionRequest, 'generation' | 'expectedVersion' | 'status'>,
): 'moves' | 'is_there' {
  const current = assertCurrent(session, sessionId, request.generation);
  if (ORDER[current.status] >= ORDER[request.status]) return 'is_there';
  if (request.expectedVersion !== current.version) {
    throw new ValiseError('worker_session_fenced', { rule: 'version' });
  }
  return 'moves';
}

/** How many more leases the session may take: by its limit, and by the slots it reported since which others came. */
export function freeSlots(session: Session, leases: number): number {
  const free = Math.min(
    session.maxConcurrentRuns - leases,
    session.availableSlots + session.leasesAtReport - leases,
  );
  return Math.max(0, free);
}

/** The milliseconds that a UUIDv7 begins with (RFC 9562). */
function timeOf(sessionId: string): number {
  return Number.parseInt(sessionId.replace('-', '').slice(0, 12), 16);
}

function assertCurrent(session: Session | null, sessionId: string, generation: number): Session {
  if (session?.sessionId !== sessionId) throw new ValiseError('worker_session_fenced', { rule: 'replaced' });
  if (session.generation !== generation) {
    throw new ValiseError('worker_session_fenced', { rule: 'generation' });
  }
  return session;
}
