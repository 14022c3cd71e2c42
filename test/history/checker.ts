import { judgeAnswers } from './answer-rules.js';
import type { AnyMove, History } from './history.js';
import { judgeLease } from './lease-rules.js';
import { ended, inOrder, Replay, type Transaction } from './replay.js';
import { judgeTransaction } from './transaction-rules.js';

/** Every rule that the history breaks, each with where; nothing of a history that could be. */
export function check(history: History): string[] {
  return [...judgeMoves(history.moves), ...judgeAnswers(history), ...judgeFinal(history)];
}

function judgeMoves(all: readonly AnyMove[]): string[] {
  const faults: string[] = [];
  const now = new Replay();
  const { moves, transactions } = inOrder(all);
  const left = new Map([...transactions].map(([id, own]): [string, number] => [id, own.length]));
  for (const move of moves) {
    const transaction: Transaction = transactions.get(move.transaction) ?? [];
    const found = move.table === 'leases' ? judgeLease(move, transaction, now) : [];
    now.apply(move);
    const pending = (left.get(move.transaction) ?? 0) - 1;
    left.set(move.transaction, pending);
    if (pending === 0) found.push(...judgeTransaction(transaction, now));
    const where = move.table === 'leases' ? ` (attempt ${move.after.attempt_id})` : '';
    faults.push(...found.map((fault) => `${fault}${where}, at ${move.position}`));
  }
  return faults;
}

/** The run's word for what its newest attempt is. */
const RUN_STATUS: Readonly<Record<string, string>> = { claimed: 'dispatching', starting: 'dispatching' };

/** Time has passed and everything was swept: nothing is stuck. */
function judgeFinal({ final, claimable }: History): string[] {
  const faults: string[] = [];
  const runs = new Map(final.runs.map((run) => [run.run_id, run]));
  const waiting = new Set(claimable);
  for (const attempt of final.attempts) {
    const run = runs.get(attempt.run_id);
    const where = ` (attempt ${attempt.attempt_id}, ${attempt.status})`;
    if (attempt.status === 'queued') {
      if (!waiting.has(attempt.attempt_id)) faults.push(`a queued attempt that nobody can claim${where}`);
    } else if (!ended(attempt.status)) faults.push(`an attempt is stuck${where}`);
    if (run?.newest_attempt_number !== attempt.attempt_number) continue;
    const expected = RUN_STATUS[attempt.status] ?? attempt.status;
    if (run.status !== expected) faults.push(`a run says ${run.status} of its newest attempt${where}`);
  }
  const leased = final.leases.filter(({ state }) => state === 'leased');
  if (leased.length > 0) faults.push(`${leased.length} leases are held by nobody who lives`);
  return faults;
}
