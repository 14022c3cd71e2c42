import type { LeaseRow, Move } from './history.js';
import { ended, movesOf, type Replay, type Transaction } from './replay.js';

/** What is wrong with a transaction as a whole, at its last move: every fence move writes the lease row. */
export function judgeTransaction(transaction: Transaction, now: Replay): string[] {
  if (transaction.some(({ role }) => role === 'time')) return [];
  return [
    ...movesOf(transaction, 'runs').flatMap((move) => judgeRun(move, transaction, now)),
    ...movesOf(transaction, 'attempts').flatMap((move) => judgeAttempt(move, transaction)),
    ...movesOf(transaction, 'worker_sessions').flatMap((move) => judgeSession(move, transaction, now)),
    ...movesOf(transaction, 'workers').flatMap((move) => judgeWorker(move, transaction, now)),
  ];
}

function isFenced(transaction: Transaction, attemptId: string): boolean {
  return movesOf(transaction, 'leases').some(
    ({ before, after }) => after.attempt_id === attemptId && after.version > (before?.version ?? -1),
  );
}

function judgeRun(move: Move<'runs'>, transaction: Transaction, now: Replay): string[] {
  const { before, after } = move;
  if (!before) return [];
  const faults = [];
  const asked =
    (before.cancel_requested_at_ms === null && after.cancel_requested_at_ms !== null) ||
    (before.stop_requested_at_ms === null && after.stop_requested_at_ms !== null);
  const newest = [...now.attempts.values()].find(
    (attempt) => attempt.run_id === after.run_id && attempt.attempt_number === after.newest_attempt_number,
  );
  if (asked && !isFenced(transaction, newest?.attempt_id ?? '')) {
    faults.push('a stop is requested, and the lease does not show it');
  }
  if (ended(before.status) && after.status !== before.status) {
    const retried = after.newest_attempt_number === before.newest_attempt_number + 1;
    if (!retried || before.status === 'succeeded') faults.push('a run ends twice');
  }
  if (before.status !== 'queued' && after.status === 'queued' && after.cancel_requested_at_ms !== null) {
    faults.push('a cancelled run is queued again');
  }
  return faults;
}

/** The moves an attempt may make; each of them but the two that its lease need not show. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  queued: ['claimed', 'cancelled'],
  claimed: ['starting', 'queued', 'failed', 'cancelled', 'timed_out'],
  starting: ['running', 'queued', 'succeeded', 'failed', 'cancelled', 'timed_out', 'lost'],
  running: ['succeeded', 'failed', 'cancelled', 'timed_out', 'lost'],
};
const UNSHOWN = new Set(['starting', 'running']);

function judgeAttempt(move: Move<'attempts'>, transaction: Transaction): string[] {
  const { before, after } = move;
  if (!before || before.status === after.status) return [];
  if (ended(before.status)) return ['an attempt ends twice'];
  const faults = [];
  if (NEXT[before.status]?.includes(after.status) !== true) {
    faults.push(`an attempt goes from ${before.status} to ${after.status}`);
  }
  if (!UNSHOWN.has(after.status) && !isFenced(transaction, after.attempt_id)) {
    faults.push('an attempt moves, and its lease does not show it');
  }
  return faults;
}

function judgeSession(move: Move<'worker_sessions'>, transaction: Transaction, now: Replay): string[] {
  const { before, after } = move;
  if (!before) return [];
  const faults = [];
  if (after.generation < before.generation) faults.push('a session’s generation falls');
  if (after.generation === before.generation && after.version < before.version) {
    faults.push('a session’s version falls');
  }
  if (before.session_id !== null && after.session_id !== before.session_id) {
    if ((after.session_id ?? '') < before.session_id) faults.push('an older session comes back');
    const untouched = heldBy(now, after.worker_id).filter(
      (lease) => lease.session_id === before.session_id && !isFenced(transaction, lease.attempt_id),
    );
    if (untouched.length > 0) faults.push('a session is replaced, and a lease of it does not show it');
  }
  return faults;
}

/** Judged after the audit row, which comes last: before it, a lease may still be given back by somebody else. */
function judgeWorker(move: Move<'workers'>, transaction: Transaction, now: Replay): string[] {
  if (
    move.before &&
    !movesOf(transaction, 'audit_events').some(({ after }) => after.action === 'put_worker')
  ) {
    return ['a worker is changed, and no audit row says so'];
  }
  const untouched = heldBy(now, move.after.worker_id).filter(
    (lease) =>
      !now.mayHold(move.after.worker_id, lease.attempt_id) && !isFenced(transaction, lease.attempt_id),
  );
  return untouched.length > 0 ? ['a worker loses a right, and a lease of it does not show it'] : [];
}

function heldBy(now: Replay, workerId: string): LeaseRow[] {
  return [...now.leases.values()].filter((lease) => lease.state === 'leased' && lease.worker_id === workerId);
}
