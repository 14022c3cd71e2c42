import { Inject, Injectable } from '@nestjs/common';
import { leaseTokenDigest, parseJson, readExecutionRevision } from '@valise/contracts/documents';
import { ValiseError, type IdleReason } from '@valise/contracts/failure';
import {
  OFFER_SCHEMA,
  type LeaseControlRequest,
  type LeaseControlResponse,
  type Offer,
  type OfferRequest,
  type OfferResponse,
} from '@valise/contracts/wire';
import type { Execution } from '../attempts/execution.js';
import { ExecutionRepository } from '../attempts/execution.repository.js';
import { MoveRepository } from '../attempts/move.repository.js';
import { DatabaseFault } from '../database/database-fault.js';
import { INGRESS } from '../database/isolation.js';
import { TransactionRunner } from '../database/transaction-runner.js';
import type { Tx } from '../database/tx.js';
import { freeSlots, type Session, type WorkerSessionKey } from '../sessions/session.js';
import { SessionRepository } from '../sessions/session.repository.js';
import { AUTHORITY_SETTINGS, type AuthoritySettings } from '../settings.js';
import type { Worker } from '../workers/worker.js';
import { WorkerRepository } from '../workers/worker.repository.js';
import { CandidateRepository, type Candidate, type Plan } from './candidate.repository.js';
import { ClaimGate } from './claim-gate.js';
import { ClaimRepository } from './claim.repository.js';
import type { Claim } from './holder.js';
import {
  assertMayClaim,
  assertRecovers,
  decideRenewal,
  isClaimable,
  isOwnOffer,
  takesWork,
} from './lease.js';
import { LeaseRepository } from './lease.repository.js';
import { Matcher } from './matcher.js';
import { Queue } from './queue.js';

/** Claims and renewals: who holds an attempt, and for how long. */
@Injectable()
export class LeaseService {
  constructor(
    private readonly transactions: TransactionRunner,
    private readonly workers: WorkerRepository,
    private readonly sessions: SessionRepository,
    private readonly leases: LeaseRepository,
    private readonly claims: ClaimRepository,
    private readonly gate: ClaimGate,
    private readonly candidates: CandidateRepository,
    private readonly queue: Queue,
    private readonly executions: ExecutionRepository,
    private readonly moves: MoveRepository,
    @Inject(AUTHORITY_SETTINGS) private readonly settings: AuthoritySettings,
  ) {}

  /**
   * The offer holds the first queued attempt that the worker may serve and fits, or the worker is told why there is
   * none. The same offer with the same token gets the same claim again, for as long as that lives.
   * @throws ValiseError worker_identity_mismatch, worker_session_fenced; worker_offer_fenced for an offer id that has
   * claimed before and holds nothing
   */
  async claim(key: WorkerSessionKey, request: OfferRequest): Promise<OfferResponse> {
    try {
      return await this.transactions.run(INGRESS, (tx) => this.claimIn(tx, key, request));
    } catch (error) {
      // Two sessions used the id at the same moment; this one came second.
      if (error instanceof DatabaseFault && error.constraint === 'pk_lease_claims') {
        throw new ValiseError('worker_offer_fenced', { rule: 'claimed_before' });
      }
      throw error;
    }
  }

  /** @throws ValiseError worker_lease_control_fenced */
  renew(key: WorkerSessionKey, request: LeaseControlRequest): Promise<LeaseControlResponse> {
    return this.transactions.run(INGRESS, async (tx) => {
      const { execution, claimant } = await this.gate.lock(tx, key, request, 'worker_lease_control_fenced');
      const renewal = decideRenewal(key, request, execution, claimant);
      if (renewal.kind === 'terminal') {
        const { version, expiresAtMs } = execution.lease;
        return { status: 'terminal', leaseVersion: version, expiresAtMs };
      }
      const lease = await this.leases.renew(tx, request.attemptId);
      return {
        status: renewal.stop ? 'stop_requested' : 'renewed',
        leaseVersion: lease.version,
        expiresAtMs: lease.expiresAtMs,
        ...(renewal.stop && { stop: { reason: renewal.stop } }),
      };
    });
  }

  private async claimIn(tx: Tx, key: WorkerSessionKey, request: OfferRequest): Promise<OfferResponse> {
    const session = await this.sessions.lock(tx, key.workerId);
    const worker = await this.workers.find(tx, key.workerId);
    const { claim, nowMs } = await this.claims.readClaimant(tx, key.workerId, request.offerId);
    assertMayClaim(worker?.status ?? null, session, key, request.workerGeneration, nowMs);
    if (claim) return this.recover(tx, key, request, claim);
    if (!worker || !takesWork(worker.status, session)) return this.idle('worker_unavailable');
    const free = freeSlots(session, await this.leases.countOfSession(tx, key.workerId, key.sessionId));
    if (free === 0) return this.idle('worker_unavailable');
    return this.claimFirst(tx, key, request, new Matcher(worker, session, free, nowMs), session, worker);
  }

  private async recover(
    tx: Tx,
    key: WorkerSessionKey,
    request: OfferRequest,
    claim: Claim,
  ): Promise<OfferResponse> {
    const isOwn = isOwnOffer(key, request.leaseToken, claim);
    const runId = isOwn ? await this.executions.findRunId(tx, claim.attemptId) : null;
    const execution = runId === null ? null : await this.executions.lock(tx, runId, claim.attemptId);
    assertRecovers(key, request.leaseToken, claim, execution);
    const plan = await this.candidates.findPlan(tx, execution.run.runId);
    // What was damaged since is nothing to run; the lease runs out, and the sweeper sees to the attempt.
    if (!plan || !isIntact(plan)) return this.idle('plans_unavailable');
    return offered('lease_recovery', execution, plan, claim);
  }

  private async claimFirst(
    tx: Tx,
    key: WorkerSessionKey,
    request: OfferRequest,
    matcher: Matcher,
    session: Session,
    worker: Worker,
  ): Promise<OfferResponse> {
    const verdict: { reason: IdleReason } = { reason: 'no_candidates' };
    for await (const candidates of this.queue.fitting(tx, worker.projects, matcher)) {
      if (verdict.reason === 'no_candidates') verdict.reason = 'no_match';
      const claimed = await this.claimOneOf(tx, key, request, session, candidates, matcher, verdict);
      if (claimed) return claimed;
    }
    return this.idle(
      matcher.unreadable && verdict.reason === 'no_match' ? 'plans_unavailable' : verdict.reason,
    );
  }

  /** Claims the first of the candidates that nobody else takes at this moment. */
  private async claimOneOf(
    tx: Tx,
    key: WorkerSessionKey,
    request: OfferRequest,
    session: Session,
    candidates: readonly Candidate[],
    matcher: Matcher,
    verdict: { reason: IdleReason },
  ): Promise<OfferResponse | null> {
    const open = new Map(candidates.map((candidate) => [candidate.runId, candidate]));
    while (open.size > 0) {
      verdict.reason = 'claim_raced';
      const runId = await this.candidates.lockFirst(tx, [...open.keys()]);
      const candidate = runId === null ? undefined : open.get(runId);
      if (runId === null || !candidate) return null;
      open.delete(runId);
      const { attemptId, executionDigest } = candidate;
      const execution = await this.executions.lock(tx, runId, attemptId);
      const plan = await this.candidates.findPlan(tx, runId);
      if (!execution || !isClaimable(execution)) continue;
      if (!plan || !isIntact(plan)) {
        matcher.refuse(executionDigest);
        for (const [other, { executionDigest: digest }] of open)
          if (digest === executionDigest) open.delete(other);
        verdict.reason = 'plans_unavailable';
        continue;
      }
      const claim: Claim = {
        offerId: request.offerId,
        attemptId,
        leaseGeneration: execution.lease.generation + 1,
        workerId: key.workerId,
        sessionId: key.sessionId,
        workerGeneration: session.generation,
        tokenDigest: leaseTokenDigest(request.leaseToken),
        placementScore: matcher.scoreOf(executionDigest) ?? 0,
      };
      await this.moves.claim(tx, execution, claim, session.leaseDurationMs);
      await this.claims.append(tx, claim);
      const taken = await this.executions.lock(tx, runId, attemptId);
      if (!taken) throw new Error('the claimed attempt is locked and there');
      return offered('new_claim', taken, plan, claim);
    }
    return null;
  }

  private idle(reason: IdleReason): OfferResponse {
    return { schema: OFFER_SCHEMA, status: 'idle', reason, retryAfterMs: this.settings.idleRetryAfterMs };
  }
}

/** Whether the stored plan still is what its digest says. */
function isIntact(plan: Plan): boolean {
  try {
    readPlan(plan);
    return true;
  } catch (error) {
    if (error instanceof ValiseError) return false;
    throw error;
  }
}

function readPlan({ planJson, contentDigest, createdAtMs }: Plan): Record<string, unknown> {
  const plan = parseJson(planJson) as object;
  return { ...readExecutionRevision({ ...plan, createdAtMs, contentDigest }) };
}

function offered(
  deliveryKind: Offer['deliveryKind'],
  { run, attempt, lease }: Execution,
  plan: Plan,
  claim: Claim,
): OfferResponse {
  return {
    schema: OFFER_SCHEMA,
    status: 'offered',
    offer: {
      offerId: claim.offerId,
      deliveryKind,
      executionDigest: plan.contentDigest,
      candidate: {
        runId: run.runId,
        attemptId: attempt.attemptId,
        projectId: run.projectId,
        taskId: run.taskId,
        taskRevision: run.taskRevision,
        priority: run.priority,
        queuedAtMs: attempt.queuedAtMs,
        attemptCreatedAtMs: attempt.createdAtMs,
        attemptNumber: attempt.attemptNumber,
        executorType: 'remote_worker',
      },
      worker: {
        workerId: claim.workerId,
        sessionId: claim.sessionId,
        generation: claim.workerGeneration,
      },
      lease: {
        version: lease.version,
        leaseGeneration: lease.generation,
        acquiredAtMs: lease.acquiredAtMs,
        renewedAtMs: lease.renewedAtMs,
        expiresAtMs: lease.expiresAtMs,
        updatedAtMs: lease.updatedAtMs,
      },
      executionRevision: readPlan(plan),
      placementScore: claim.placementScore,
    },
  };
}
