import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { assertDeliveryScope } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import type { SecretDeliveryRequest } from '@valise/contracts/wire';
import { DELIVERY, DENIAL, SETTLEMENT } from '../database/isolation.js';
import { TransactionRunner } from '../database/transaction-runner.js';
import type { Tx } from '../database/tx.js';
import { AUTHORITY_SETTINGS, type AuthoritySettings } from '../settings.js';
import { decideDelivery, DENIALS, type DeliveryCaller, type DeliveryFacts, type Denial } from './delivery.js';
import { DeliveryRepository, type DeliveryRecord } from './delivery.repository.js';

/** The committed right to hand out the material of one attempt, once. */
export interface DeliveryGrant {
  readonly recordId: string;
  readonly decidedAtMs: number;
  readonly runId: string;
  readonly attemptId: string;
  readonly offerId: string;
  readonly executionDigest: string;
  /** The plan's own references, in its order. */
  readonly secretRefs: string[];
  readonly environmentBundleRefs: string[];
  /** When the last byte has left, or none does: on this process's monotonic clock (`performance.now()`). */
  readonly respondByMs: number;
}

export type DeliveryOutcome = 'sent' | 'custody_failed' | 'aborted';

type Decision =
  | { readonly kind: 'granted'; readonly grant: DeliveryGrant }
  | { readonly kind: 'denied'; readonly denial: Denial; readonly limitedForMs: number | null }
  | { readonly kind: 'busy'; readonly retryAfterMs: number };

/** The conditional write found the lease moved: nothing was granted, and that is to be recorded. */
interface Moved {
  readonly kind: 'moved';
  readonly record: DeliveryRecord;
  readonly facts: DeliveryFacts;
}

/** Decides who may have which material now, and keeps the record of it. */
@Injectable()
export class DeliveryAuthority {
  /** How often deliveries were denied for which reason since the process started. */
  readonly denials: Record<Denial, number> = zeroCounts(DENIALS);

  constructor(
    private readonly transactions: TransactionRunner,
    private readonly deliveries: DeliveryRepository,
    @Inject(AUTHORITY_SETTINGS) private readonly settings: AuthoritySettings,
  ) {}

  /**
   * The right is decided and on record when this returns, and so is the denial when it throws.
   * @param requestDigest SHA-256 of the request's bytes, for the record
   * @throws ValiseError REMOTE_SECRET_DELIVERY_INVALID (nothing recorded); worker_secret_delivery_fenced, which says
   * nothing about why; delivery_budget_exhausted; rate_limited; worker_secret_delivery_unavailable while the claim's
   * last delivery is on its way, or when no decision could be recorded
   */
  async authorize(
    caller: DeliveryCaller,
    request: SecretDeliveryRequest,
    requestDigest: string,
  ): Promise<DeliveryGrant> {
    assertDeliveryScope(request);
    const found = await this.transactions.run(DELIVERY, (tx) =>
      this.decide(tx, caller, request, requestDigest),
    );
    const decision =
      found.kind !== 'moved'
        ? found
        : await this.transactions.run(DENIAL, (tx) =>
            this.deny(tx, found.record, 'lease_moved', found.facts),
          );
    switch (decision.kind) {
      case 'granted':
        return decision.grant;
      case 'busy':
        throw new ValiseError('worker_secret_delivery_unavailable', { retryAfterMs: decision.retryAfterMs });
      case 'denied':
        this.denials[decision.denial] += 1;
        if (decision.limitedForMs !== null) {
          throw new ValiseError('rate_limited', { retryAfterMs: decision.limitedForMs });
        }
        throw new ValiseError(
          decision.denial === 'delivery_budget_exhausted'
            ? 'delivery_budget_exhausted'
            : 'worker_secret_delivery_fenced',
        );
    }
  }

  /** What became of the delivery is on record; only the first word about it counts. */
  settle(grant: DeliveryGrant, outcome: DeliveryOutcome): Promise<void> {
    return this.transactions.run(SETTLEMENT, (tx) => this.deliveries.settle(tx, grant, outcome));
  }

  private async decide(
    tx: Tx,
    caller: DeliveryCaller,
    request: SecretDeliveryRequest,
    requestDigest: string,
  ): Promise<Decision | Moved> {
    const facts = await this.deliveries.readFacts(tx, caller.workerId, request.attemptId);
    const verdict = decideDelivery(caller, request, facts, this.settings);
    if (verdict.kind === 'busy') return verdict;
    const record = recordOf(caller, request, requestDigest, facts);
    if (verdict.kind === 'deny') return this.deny(tx, record, verdict.denial, facts);
    const { target } = facts;
    if (!target) throw new Error('nothing is authorised without a target');
    const { attemptId } = target.attempt;
    // Before the database reads the clock that it decides by, so that the time left is never over-estimated.
    const sentAtMs = performance.now();
    const written = await this.deliveries.authorise(
      tx,
      { ...record, attemptId },
      target.lease,
      this.settings,
    );
    if (!written) return { kind: 'moved', record, facts };
    const leaseRestMs = written.expiresAtMs - written.decidedAtMs;
    return {
      kind: 'granted',
      grant: {
        recordId: record.recordId,
        decidedAtMs: written.decidedAtMs,
        runId: target.run.runId,
        attemptId,
        offerId: request.offerId,
        executionDigest: target.plan.contentDigest,
        secretRefs: [...target.plan.secretRefs],
        environmentBundleRefs: [...target.plan.environmentBundleRefs],
        respondByMs: sentAtMs + Math.min(this.settings.responseDeadlineMs, leaseRestMs),
      },
    };
  }

  private async deny(
    tx: Tx,
    record: DeliveryRecord,
    denial: Denial,
    { worker }: DeliveryFacts,
  ): Promise<Decision> {
    const { denialsPerMinute } = this.settings;
    const windowId = worker ? record.workerId : '';
    const { denials, endsInMs } = await this.deliveries.deny(tx, record, denial, windowId, denialsPerMinute);
    return {
      kind: 'denied',
      denial,
      limitedForMs: denials > denialsPerMinute ? Math.max(1, endsInMs) : null,
    };
  }
}

function zeroCounts<T extends string>(names: readonly T[]): Record<T, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<T, number>;
}

/** Nothing in it is the worker's text: identifiers come from the certificate and from our own rows. */
function recordOf(
  caller: DeliveryCaller,
  request: SecretDeliveryRequest,
  requestDigest: string,
  { session, target }: DeliveryFacts,
): DeliveryRecord {
  return {
    recordId: randomUUID(),
    workerId: caller.workerId,
    sessionId: session?.sessionId === caller.sessionId ? session.sessionId : null,
    runId: target?.run.runId ?? null,
    attemptId: target?.attempt.attemptId ?? null,
    leaseGeneration: target?.lease.generation ?? null,
    secretCount: request.secretRefs.length,
    bundleCount: request.environmentBundleRefs.length,
    certificateSerial: caller.certificateSerial,
    requestDigest,
  };
}
