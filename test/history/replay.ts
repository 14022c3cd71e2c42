import type { AnyMove, AttemptRow, LeaseRow, Move, RunRow, SessionRow, WorkerRow } from './history.js';

const PROJECT_OF_ALL = '*';

/** The rows as the moves up to some position leave them. */
export class Replay {
  readonly leases = new Map<string, LeaseRow>();
  readonly attempts = new Map<string, AttemptRow>();
  readonly runs = new Map<string, RunRow>();
  readonly sessions = new Map<string, SessionRow>();
  readonly workers = new Map<string, WorkerRow>();

  apply(move: AnyMove): void {
    switch (move.table) {
      case 'leases':
        this.leases.set(move.after.attempt_id, move.after);
        break;
      case 'attempts':
        this.attempts.set(move.after.attempt_id, move.after);
        break;
      case 'runs':
        this.runs.set(move.after.run_id, move.after);
        break;
      case 'worker_sessions':
        this.sessions.set(move.after.worker_id, move.after);
        break;
      case 'workers':
        this.workers.set(move.after.worker_id, move.after);
        break;
      case 'lease_claims':
      case 'delivery_records':
      case 'delivery_outcomes':
      case 'late_reports':
      case 'audit_events':
        break;
    }
  }

  runOf(attemptId: string): RunRow | undefined {
    const attempt = this.attempts.get(attemptId);
    return attempt && this.runs.get(attempt.run_id);
  }

  /** Whether operators let the worker hold anything of the attempt's project. */
  mayHold(workerId: string, attemptId: string): boolean {
    const worker = this.workers.get(workerId);
    const project = this.attempts.get(attemptId)?.project_id;
    if (!worker || project === undefined || worker.status === 'revoked') return false;
    return worker.projects.includes(PROJECT_OF_ALL) || worker.projects.includes(project);
  }
}

/** One committed transaction: its moves in order. */
export type Transaction = readonly AnyMove[];

/**
 * The moves in the order in which they count. What a transaction does to a session or a worker counts from its last
 * move on: until then it does not hold the leases that the change is about.
 */
export function inOrder(moves: readonly AnyMove[]): {
  readonly moves: readonly AnyMove[];
  readonly transactions: ReadonlyMap<string, Transaction>;
} {
  const byPosition = [...moves].sort((one, other) => one.position - other.position);
  const transactions = new Map<string, AnyMove[]>();
  for (const move of byPosition) {
    const own = transactions.get(move.transaction);
    if (own) own.push(move);
    else transactions.set(move.transaction, [move]);
  }
  const countsFrom = (move: AnyMove): number =>
    move.table === 'worker_sessions' || move.table === 'workers'
      ? (transactions.get(move.transaction)?.at(-1)?.position ?? move.position)
      : move.position;
  const order = byPosition
    .map((move) => ({ move, from: countsFrom(move) }))
    .sort((one, other) => one.from - other.from || one.move.position - other.move.position)
    .map(({ move }) => move);
  return { moves: order, transactions };
}

/** The moves of one table in a transaction. */
export function movesOf<Table extends AnyMove['table']>(
  transaction: Transaction,
  table: Table,
): readonly Move<Table>[] {
  return transaction.filter((move) => move.table === table) as unknown as Move<Table>[];
}

const ENDED = new Set(['succeeded', 'failed', 'cancelled', 'timed_out', 'lost']);
export const ended = (status: string): boolean => ENDED.has(status);
