import { randomBytes } from 'node:crypto';
import type { WorkerSessionKey } from '@valise/authority';
import { sha256Hex, writeCapabilities } from '@valise/contracts/documents';
import { SESSION_REGISTER_SCHEMA, type SessionRegisterRequest } from '@valise/contracts/wire';
import type { Fields } from '../../apps/cli/src/management/management-client.js';

const CAPABILITIES = writeCapabilities({
  architecture: 'amd64',
  executors: ['remote-worker'],
  protocolVersion: '1.0.0',
  supportTier: 'tier1',
});

/** Ids of one millisecond are told apart by twelve bits. */
const IDS_PER_MS = 4096;
let newest = 0;

/** A worker with its session, as a test plays it. */
export interface TestWorker extends WorkerSessionKey {
  readonly generation: number;
}

/** Where a worker calls an operation in its session. */
export function sessionPath({ workerId, sessionId }: WorkerSessionKey, operation: string): string {
  return `/api/v3/worker-ingress/workers/${workerId}/sessions/${sessionId}/${operation}`;
}

/** A UUIDv7 larger than every one before. */
export function newSessionId(): string {
  newest = Math.max(Date.now() * IDS_PER_MS, newest + 1);
  return sessionIdAt(Math.floor(newest / IDS_PER_MS), newest % IDS_PER_MS);
}

/** A UUIDv7 of that time. */
export function sessionIdAt(atMs: number, order = 0): string {
  const time = atMs.toString(16).padStart(12, '0');
  const place = order.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place}-8000-${randomBytes(6).toString('hex')}`;
}

export function registration(report: Partial<SessionRegisterRequest> = {}): Fields<SessionRegisterRequest> {
  return {
    schema: SESSION_REGISTER_SCHEMA,
    capabilitiesJson: CAPABILITIES,
    capabilitiesHash: sha256Hex(CAPABILITIES),
    maxConcurrentRuns: 64,
    availableSlots: 64,
    leaseDurationMs: 30_000,
    ...report,
  };
}
