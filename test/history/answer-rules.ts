import type { Call, History, Move } from './history.js';
import { movesOf } from './replay.js';

/** What the answers say that the tables do not, and the other way round. */
export function judgeAnswers(history: History): string[] {
  return [
    ...history.calls.filter(({ answer }) => answer === 'fault').map(({ kind }) => `${kind}: a fault`),
    ...judgeRecords(history),
    ...judgeClaims(history),
    ...judgeEnds(history),
    ...judgeOrder(history),
  ];
}

const RECORDED: Readonly<Record<string, 'authorised' | 'denied'>> = {
  granted: 'authorised',
  worker_secret_delivery_fenced: 'denied',
  delivery_budget_exhausted: 'denied',
};

/** Every answered delivery has its record, every record its request, every authorised one its lease's word. */
function judgeRecords({ calls, moves }: History): string[] {
  const faults: string[] = [];
  const records = movesOf(moves, 'delivery_records');
  const byDigest = new Map<string, Move<'delivery_records'>[]>();
  for (const record of records) {
    const { request_digest: digest } = record.after;
    byDigest.set(digest, [...(byDigest.get(digest) ?? []), record]);
  }
  const requests = new Map(
    calls.filter(({ kind }) => kind === 'deliver').map((call) => [call.requestId ?? '', call]),
  );
  for (const [requestId, call] of requests) {
    const own = byDigest.get(requestId) ?? [];
    const decision = RECORDED[call.answer];
    if (own.length > 1) faults.push('a request has two records');
    const [record] = own;
    if (decision && record?.after.decision !== decision) {
      faults.push(`a delivery was answered ${call.answer} and is not on record so`);
    }
    if (!decision && record && call.answer !== 'unknown')
      faults.push(`a delivery was answered ${call.answer} and is on record`);
    if (call.answer === 'granted' && record) faults.push(...judgeGrant(call, record));
  }
  for (const { after } of records) {
    if (!requests.has(after.request_digest)) faults.push('a record without its request');
  }
  const opened = new Set(movesOf(moves, 'leases').map(({ after }) => after.open_record_id));
  const authorised = records.filter(({ after }) => after.decision === 'authorised');
  if (authorised.some(({ after }) => !opened.has(after.record_id))) {
    faults.push('an authorised record that its lease does not know');
  }
  const known = new Set(authorised.map(({ after }) => after.record_id));
  const outcomes = movesOf(moves, 'delivery_outcomes').map(({ after }) => after.record_id);
  if (outcomes.some((recordId) => !known.has(recordId))) faults.push('an outcome of nothing');
  if (new Set(outcomes).size !== outcomes.length) faults.push('two outcomes of one delivery');
  return faults;

  /** The request showed the lease exactly as the authorisation found it. */
  function judgeGrant(call: Call, record: Move<'delivery_records'>): string[] {
    const lease = movesOf(moves, 'leases').find(
      ({ transaction, after }) =>
        transaction === record.transaction && after.open_record_id === record.after.record_id,
    )?.before;
    const { fence } = call;
    const exact =
      lease &&
      fence !== null &&
      lease.attempt_id === fence.attemptId &&
      lease.worker_id === call.workerId &&
      lease.session_id === fence.sessionId &&
      lease.worker_generation === fence.workerGeneration &&
      lease.offer_id === fence.offerId &&
      lease.generation === fence.leaseGeneration &&
      lease.token_digest === fence.tokenDigest &&
      lease.version === fence.version;
    return exact ? [] : ['a delivery was granted to a request that does not show the lease as it was'];
  }
}

/** Every claim has its request, every answer its claim, and no generation two claims. */
function judgeClaims({ calls, moves }: History): string[] {
  const faults: string[] = [];
  const asked = new Set(calls.filter(({ kind }) => kind === 'claim').map(({ requestId }) => requestId));
  const claims = movesOf(moves, 'lease_claims').map(({ after }) => after);
  if (claims.some(({ offer_id: offerId }) => !asked.has(offerId))) faults.push('a claim without its request');
  const byOffer = new Map(claims.map((claim) => [claim.offer_id, claim]));
  for (const call of calls) {
    if (call.answer !== 'new_claim' && call.answer !== 'lease_recovery') continue;
    const claim = byOffer.get(call.requestId ?? '');
    const same =
      claim?.attempt_id === call.attemptId &&
      claim.lease_generation === call.leaseGeneration &&
      claim.worker_id === call.workerId;
    if (!same) faults.push('an offer was answered that is not on record');
  }
  const generations = claims.map((claim) => `${claim.attempt_id} ${claim.lease_generation}`);
  if (new Set(generations).size !== generations.length) faults.push('two holders of one generation');
  return faults;
}

/** No applied end is lost, none is applied twice, and what came too late was kept. */
function judgeEnds({ calls, final, moves }: History): string[] {
  const faults: string[] = [];
  const completions = calls.filter(({ kind }) => kind === 'completion');
  const applied = completions.filter(({ answer }) => answer === 'applied').map(({ attemptId }) => attemptId);
  if (new Set(applied).size !== applied.length) faults.push('a completion is applied twice');
  const attempts = new Map(final.attempts.map((attempt) => [attempt.attempt_id, attempt]));
  for (const attemptId of applied) {
    if (attempts.get(attemptId ?? '')?.decided_by !== 'completion')
      faults.push('an applied completion is lost');
  }
  const kept = new Set(
    movesOf(moves, 'late_reports').map(
      ({ after }) => `${after.kind} ${after.attempt_id} ${after.lease_generation}`,
    ),
  );
  for (const { answer, fence } of completions) {
    if (answer !== 'already_terminal' || !fence) continue;
    if (!kept.has(`completion ${fence.attemptId} ${fence.leaseGeneration}`)) {
      faults.push('a late completion was not kept');
    }
  }
  return faults;
}

/** Answers whose lease cannot be delivered to any more under an older version. */
const MOVES_VERSION = new Set(['renewed', 'stop_requested', 'new_claim']);

/**
 * What needs no trail: a delivery that was asked for after a fence move had been answered is not granted to the fence
 * from before.
 */
function judgeOrder({ calls }: History): string[] {
  const granted = calls.filter(({ answer }) => answer === 'granted');
  const claimedAt = new Map(
    calls.filter(({ answer }) => answer === 'new_claim').map((call) => [call.requestId, call.answeredMs]),
  );
  return granted.flatMap((delivery) => {
    const { fence, workerId } = delivery;
    if (!fence) return ['a delivery was granted to nobody'];
    const heldSince = claimedAt.get(fence.offerId) ?? Infinity;
    const before = calls.filter((call) => call.answeredMs < delivery.invokedMs);
    return before.some((call) => {
      const sameAttempt = call.attemptId === fence.attemptId;
      if (sameAttempt && MOVES_VERSION.has(call.answer)) return (call.leaseVersion ?? 0) > fence.version;
      if (sameAttempt && call.kind === 'completion') return call.answer === 'applied';
      if (sameAttempt && call.kind === 'cancel_run') return call.answer === 'applied';
      const ofTheWorker = call.workerId === workerId && call.invokedMs > heldSince;
      if (ofTheWorker && call.kind === 'register') {
        return call.answer === 'replaced' && (call.requestId ?? '') > fence.sessionId;
      }
      return ofTheWorker && call.kind === 'put_worker' && call.answer === 'fenced';
    })
      ? ['a delivery is granted that was asked for after its fence had moved']
      : [];
  });
}
