import { parseJson, readExecutionRevision } from '@valise/contracts/documents';
import { REASON_CODES, ValiseError, type ReasonCode } from '@valise/contracts/failure';
import {
  CompletionResult,
  LEASE_TOKEN,
  LOG_ARTIFACT_ID,
  Offer,
  readBody,
  UUID_V4,
  UUID_V7,
  WORKER_ID,
} from '@valise/contracts/wire';
import type { Claim, Exit, InboxRecord, InboxState, Launch, ProcessIdentity } from './inbox-record.js';

const RECORD_SCHEMA = 'valise/worker-inbox-record@v1';
const SESSION_SCHEMA = 'valise/worker-inbox-session@v1';

/** Which worker's inbox it is, and its newest session. */
export interface SessionRecord {
  readonly workerId: string;
  readonly sessionId: string;
}

const PARTS: Record<InboxState, readonly string[]> = {
  claiming: [],
  accepted: ['offer'],
  starting_acknowledged: ['offer'],
  launching: ['offer', 'launch'],
  started: ['offer', 'launch', 'process'],
  running_acknowledged: ['offer', 'launch', 'process'],
  recovery_required: ['offer', 'launch', 'reasonCode'],
  exited: ['offer', 'launch', 'exit'],
  completion_acknowledged: ['offer', 'launch', 'exit'],
  start_failed: ['offer', 'reasonCode'],
  start_failure_acknowledged: ['offer', 'reasonCode'],
};

export function writeRecord(record: InboxRecord): Buffer {
  return Buffer.from(JSON.stringify({ schema: RECORD_SCHEMA, ...record }), 'utf8');
}

export function writeSession(session: SessionRecord): Buffer {
  return Buffer.from(JSON.stringify({ schema: SESSION_SCHEMA, ...session }), 'utf8');
}

/** @throws ValiseError inbox_damaged with the rule, when the bytes are not exactly what `writeRecord` writes */
export function readRecord(bytes: Uint8Array): InboxRecord {
  const json = readObject(bytes);
  if (json.schema !== RECORD_SCHEMA) damaged('schema');
  const { state } = json;
  if (typeof state !== 'string' || !Object.hasOwn(PARTS, state)) return damaged('state');
  const known = state as InboxState;
  exactKeys(json, ['schema', 'state', 'claim', ...PARTS[known]]);
  const claim = readClaim(json.claim);
  switch (known) {
    case 'claiming':
      return { state: known, claim };
    case 'accepted':
    case 'starting_acknowledged':
      return { state: known, claim, offer: readOffer(json.offer) };
    case 'launching':
      return { state: known, claim, offer: readOffer(json.offer), launch: readLaunch(json.launch) };
    case 'started':
    case 'running_acknowledged': {
      const process = readProcess(json.process);
      return { state: known, claim, offer: readOffer(json.offer), launch: readLaunch(json.launch), process };
    }
    case 'recovery_required': {
      const reasonCode = readReason(json.reasonCode) ?? damaged('reasonCode');
      return {
        state: known,
        claim,
        offer: readOffer(json.offer),
        launch: readLaunch(json.launch),
        reasonCode,
      };
    }
    case 'exited':
    case 'completion_acknowledged': {
      const exit = readExit(json.exit);
      return { state: known, claim, offer: readOffer(json.offer), launch: readLaunch(json.launch), exit };
    }
    case 'start_failed':
    case 'start_failure_acknowledged':
      return { state: known, claim, offer: readOffer(json.offer), reasonCode: readReason(json.reasonCode) };
  }
}

/** @throws ValiseError inbox_damaged */
export function readSession(bytes: Uint8Array): SessionRecord {
  const json = readObject(bytes);
  exactKeys(json, ['schema', 'workerId', 'sessionId']);
  if (json.schema !== SESSION_SCHEMA) damaged('schema');
  return {
    workerId: text(json.workerId, WORKER_ID, 'workerId'),
    sessionId: text(json.sessionId, UUID_V7, 'sessionId'),
  };
}

function readClaim(value: unknown): Claim {
  const json = object(value, 'claim', ['offerId', 'leaseToken']);
  return {
    offerId: text(json.offerId, UUID_V4, 'offerId'),
    leaseToken: text(json.leaseToken, LEASE_TOKEN, 'leaseToken'),
  };
}

function readOffer(value: unknown): Offer {
  const offer = readBody(Offer, value, 'inbox_damaged');
  readExecutionRevision(offer.executionRevision);
  return offer;
}

function readLaunch(value: unknown): Launch {
  const json = object(value, 'launch', ['logArtifactId', 'callbackToken', 'launchedAtMs']);
  return {
    logArtifactId: text(json.logArtifactId, LOG_ARTIFACT_ID, 'logArtifactId'),
    callbackToken: text(json.callbackToken, LEASE_TOKEN, 'callbackToken'),
    launchedAtMs: count(json.launchedAtMs, 'launchedAtMs'),
  };
}

function readProcess(value: unknown): ProcessIdentity {
  const json = object(value, 'process', ['pid', 'startTime']);
  return { pid: count(json.pid, 'pid'), startTime: count(json.startTime, 'startTime') };
}

function readExit(value: unknown): Exit {
  const json = object(value, 'exit', ['result', 'reasonCode', 'signal']);
  return {
    result: readBody(CompletionResult, json.result, 'inbox_damaged'),
    reasonCode: readReason(json.reasonCode),
    signal: json.signal === null ? null : text(json.signal, /^SIG[A-Z0-9+]{1,13}$/, 'signal'),
  };
}

function readReason(value: unknown): ReasonCode | null {
  if (value === null) return null;
  return REASON_CODES.find((reason) => reason === value) ?? damaged('reasonCode');
}

function readObject(bytes: Uint8Array): Record<string, unknown> {
  return object(parseJson(bytes), 'record');
}

function object(value: unknown, field: string, keys?: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return damaged(field);
  const json = value as Record<string, unknown>;
  if (keys) exactKeys(json, keys);
  return json;
}

function exactKeys(json: Record<string, unknown>, keys: readonly string[]): void {
  const actual = Object.keys(json);
  if (actual.length !== keys.length || !keys.every((key) => Object.hasOwn(json, key))) damaged('keys');
}

function text(value: unknown, pattern: RegExp, field: string): string {
  return typeof value === 'string' && pattern.test(value) ? value : damaged(field);
}

function count(value: unknown, field: string): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : damaged(field);
}

function damaged(rule: string): never {
  throw new ValiseError('inbox_damaged', { rule });
}
