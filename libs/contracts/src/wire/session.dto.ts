import { parseCapabilities, sha256Hex } from '../documents/index.js';
import { ValiseError, type Facts } from '../failure/index.js';
import {
  Flag,
  Generation,
  Identifier,
  Integer,
  OneOf,
  Text,
  TimeMs,
  Version,
  Digest,
  UUID_V7,
  WORKER_ID,
} from './fields.js';
import { Rule } from './rules.js';

export const SESSION_REGISTER_SCHEMA = 'qinglong/worker-session-register@v1';
export const SESSION_HEARTBEAT_SCHEMA = 'qinglong/worker-session-heartbeat@v1';
export const SESSION_TRANSITION_SCHEMA = 'qinglong/worker-session-transition@v1';

export const SESSION_STATUSES = ['online', 'draining', 'offline'] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

const MAX_RUNS = 1024;
const LEASE_MS = [5000, 600000] as const;

/** The identity in the path of every worker route; the certificate must name the same worker. */
export class WorkerSessionPath {
  @Text({ max: 128, pattern: WORKER_ID })
  workerId: string;

  @Text({ min: 36, max: 36, pattern: UUID_V7 })
  sessionId: string;
}

@Rule<SessionRegisterRequest>({
  says: '`capabilitiesJson` is a canonical capabilities document.',
  check: ({ capabilitiesJson }) => capabilitiesBreach(capabilitiesJson),
})
@Rule<SessionRegisterRequest>({
  says: '`capabilitiesHash` is the SHA-256 of `capabilitiesJson`.',
  check: ({ capabilitiesJson, capabilitiesHash }) =>
    sha256Hex(capabilitiesJson) === capabilitiesHash ? null : { field: 'capabilitiesHash', rule: 'digest' },
})
export class SessionRegisterRequest {
  @OneOf([SESSION_REGISTER_SCHEMA])
  schema: typeof SESSION_REGISTER_SCHEMA;

  /** Canonical capabilities document (wire.md §3). */
  @Text({ max: 16 * 1024 })
  capabilitiesJson: string;

  @Digest()
  capabilitiesHash: string;

  @Integer(1, MAX_RUNS)
  maxConcurrentRuns: number;

  @Integer(0, MAX_RUNS)
  availableSlots: number;

  /** How long the session, and each lease claimed in it, lives without a sign of life. */
  @Integer(...LEASE_MS)
  leaseDurationMs: number;
}

function capabilitiesBreach(json: string): Facts | null {
  try {
    parseCapabilities(json);
    return null;
  } catch (error) {
    if (!(error instanceof ValiseError)) throw error;
    const { field } = error.facts;
    return {
      ...error.facts,
      field: field === undefined ? 'capabilitiesJson' : `capabilitiesJson.${String(field)}`,
    };
  }
}

export class SessionHeartbeatRequest {
  @OneOf([SESSION_HEARTBEAT_SCHEMA])
  schema: typeof SESSION_HEARTBEAT_SCHEMA;

  @Generation()
  generation: number;

  @Version()
  expectedVersion: number;

  @Integer(0, MAX_RUNS)
  availableSlots: number;

  @Integer(...LEASE_MS)
  leaseDurationMs: number;
}

export class SessionTransitionRequest {
  @OneOf([SESSION_TRANSITION_SCHEMA])
  schema: typeof SESSION_TRANSITION_SCHEMA;

  @Generation()
  generation: number;

  @Version()
  expectedVersion: number;

  @OneOf(['draining', 'offline'])
  status: 'draining' | 'offline';
}

class SessionState {
  @Identifier()
  workerId: string;

  @Identifier()
  sessionId: string;

  @Generation()
  generation: number;

  @Version()
  version: number;

  @OneOf(SESSION_STATUSES)
  status: SessionStatus;

  @TimeMs()
  leaseExpiresAtMs: number;
}

export class SessionRegisterResponse extends SessionState {
  @OneOf([SESSION_REGISTER_SCHEMA])
  schema: typeof SESSION_REGISTER_SCHEMA;

  /** Whether an older session of this worker ended because of this one. */
  @Flag()
  replacedSession: boolean;
}

export class SessionHeartbeatResponse extends SessionState {
  @OneOf([SESSION_HEARTBEAT_SCHEMA])
  schema: typeof SESSION_HEARTBEAT_SCHEMA;
}

export class SessionTransitionResponse extends SessionState {
  @OneOf([SESSION_TRANSITION_SCHEMA])
  schema: typeof SESSION_TRANSITION_SCHEMA;
}
