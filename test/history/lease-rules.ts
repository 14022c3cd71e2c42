import type { LeaseRow, Move } from './history.js';
import { movesOf, type Replay, type Transaction } from './replay.js';

const RESPONSE_DEADLINE_MS = 5000;
const MAX_AUTHORISATIONS = 8;

/**
 * What is wrong with one move of a lease, given everything that counted before it. The rules are those of
 * docs/reference/state.md, written down a second time and from the outside.
 */
export function judgeLease(move: Move<'leases'>, transaction: Transaction, past: Replay): string[] {
  const { before, after } = move;
  const known = past.leases.get(after.attempt_id) ?? null;
  const broken = JSON.stringify(known) !== JSON.stringify(before) ? ['a move is missing in the trail'] : [];
  if (before === null) return after.generation === 0 ? broken : [...broken, 'a lease begins with a claim'];
  if (move.role === 'time') return broken;
  return [...broken, ...judgeCounters(before, after), ...judgeKind(move, before, transaction, past)];
}

function judgeCounters(before: LeaseRow, after: LeaseRow): string[] {
  const faults = [];
  if (after.generation < before.generation) faults.push('a generation falls');
  if (after.version < before.version) faults.push('a version falls');
  if (after.version > before.version + 1) faults.push('a version skips');
  if (before.state === 'completed') {
    if (!differsBySettlement(before, after)) faults.push('a lease moves after its attempt ended');
  }
  return faults;
}

/** Whether nothing moved but what becomes of a delivery. */
function differsBySettlement(before: LeaseRow, after: LeaseRow): boolean {
  const settled = { open_record_id: null, open_since_ms: null, authorisations: 0, custody_failures: 0 };
  return comparable({ ...before, ...settled }) === comparable({ ...after, ...settled });
}

/** The row without what bookkeeping changes. */
function comparable(lease: LeaseRow): string {
  return JSON.stringify({ ...lease, updated_at_ms: 0 });
}

function judgeKind(move: Move<'leases'>, before: LeaseRow, transaction: Transaction, past: Replay): string[] {
  const { after } = move;
  if (after.generation !== before.generation) return judgeClaim(before, after, transaction, past);
  const opened = after.open_record_id !== null && after.open_record_id !== before.open_record_id;
  if (opened) return judgeAuthorisation(before, after, transaction, past);
  if (after.version === before.version) return judgeSettlement(before, after);
  if (before.state !== 'leased') return after.state === before.state ? [] : judgeRelease(before, after, past);
  if (after.state !== 'leased') return judgeRelease(before, after, past, move.role);
  if (after.renewed_at_ms !== before.renewed_at_ms || after.expires_at_ms > before.expires_at_ms) {
    return judgeRenewal(before, after, past);
  }
  return [];
}

const stopped = (requestedAtMs: number | null | undefined): boolean => typeof requestedAtMs === 'number';

function judgeClaim(before: LeaseRow, after: LeaseRow, transaction: Transaction, past: Replay): string[] {
  const faults = [];
  if (before.state === 'leased') faults.push('a second holder: a live lease is claimed');
  if (after.state !== 'leased' || after.version !== before.version + 1) faults.push('a claim takes no lease');
  if (after.generation !== before.generation + 1) faults.push('a generation skips');
  const session = past.sessions.get(after.worker_id ?? '');
  if (session?.session_id !== after.session_id || session.generation !== after.worker_generation) {
    faults.push('a claim by a session that was replaced');
  }
  if (session?.status !== 'online') faults.push('a claim by a session that is not online');
  if (!past.mayHold(after.worker_id ?? '', after.attempt_id)) faults.push('a claim by a worker that may not');
  if (stopped(past.runOf(after.attempt_id)?.cancel_requested_at_ms))
    faults.push('a cancelled run is claimed');
  const attempt = movesOf(transaction, 'attempts').find((each) => each.after.attempt_id === after.attempt_id);
  if (attempt?.before?.status !== 'queued') faults.push('an attempt that is not queued is claimed');
  const claim = movesOf(transaction, 'lease_claims').find((each) => each.after.offer_id === after.offer_id);
  if (claim?.after.lease_generation !== after.generation) faults.push('a claim is not on record');
  return faults;
}

function judgeAuthorisation(
  before: LeaseRow,
  after: LeaseRow,
  transaction: Transaction,
  past: Replay,
): string[] {
  const faults = [];
  const record = movesOf(transaction, 'delivery_records').find(
    (each) => each.after.record_id === after.open_record_id && each.after.decision === 'authorised',
  )?.after;
  if (!record) return ['an authorisation without its record'];
  if (after.version !== before.version) faults.push('an authorisation moves the version');
  if (after.authorisations !== before.authorisations + 1) faults.push('an authorisation is not counted');
  if (after.authorisations > MAX_AUTHORISATIONS) faults.push('more authorisations than a claim may have');
  if (before.state !== 'leased') faults.push('an authorisation on a lease that nobody holds');
  if (before.expires_at_ms <= record.decided_at_ms) faults.push('an authorisation on an expired lease');
  if (record.worker_id !== before.worker_id || record.lease_generation !== before.generation) {
    faults.push('an authorisation for somebody who is not the holder');
  }
  if (before.open_since_ms !== null && record.decided_at_ms - before.open_since_ms < RESPONSE_DEADLINE_MS) {
    faults.push('two deliveries of a claim in flight');
  }
  const session = past.sessions.get(record.worker_id);
  if (session?.session_id !== before.session_id)
    faults.push('an authorisation after the session was replaced');
  if (!past.mayHold(record.worker_id, after.attempt_id)) {
    faults.push('an authorisation after the worker lost its right');
  }
  const run = past.runOf(after.attempt_id);
  if (stopped(run?.cancel_requested_at_ms)) faults.push('an authorisation after the run was cancelled');
  if (stopped(run?.stop_requested_at_ms)) faults.push('an authorisation after the run was stopped');
  const status = past.attempts.get(after.attempt_id)?.status;
  if (status !== 'starting' && status !== 'running') faults.push('an authorisation before starting');
  return faults;
}

function judgeSettlement(before: LeaseRow, after: LeaseRow): string[] {
  const back = before.authorisations - after.authorisations;
  return differsBySettlement(before, after) && (back === 0 || back === 1)
    ? []
    : ['a lease moves without raising its version'];
}

function judgeRenewal(before: LeaseRow, after: LeaseRow, past: Replay): string[] {
  const faults = [];
  if (before.expires_at_ms <= after.renewed_at_ms) faults.push('an expired lease is renewed');
  if (!past.mayHold(after.worker_id ?? '', after.attempt_id)) {
    faults.push('a lease is renewed after its worker lost its right');
  }
  if (past.sessions.get(after.worker_id ?? '')?.session_id !== after.session_id) {
    faults.push('a lease is renewed after its session was replaced');
  }
  return faults;
}

/** `attempts` and `runs` may have moved before their lease, in the same statement. */
function judgeRelease(before: LeaseRow, after: LeaseRow, past: Replay, role?: string): string[] {
  const status = past.attempts.get(after.attempt_id)?.status;
  if (before.state !== 'leased' && after.state === 'leased') return ['a lease is taken without a claim'];
  if (role === 'valise_sweeper' && status === 'queued' && before.authorisations > 0) {
    return ['the sweeper requeues what may have its secrets'];
  }
  return [];
}
