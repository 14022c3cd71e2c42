import { randomBytes, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Offer } from '@valise/contracts/wire';
import { BackOff } from '../clock/back-off.js';
import { monotonicMs } from '../clock/monotonic.js';
import { jittered, pause } from '../clock/pause.js';
import { WorkerConfig } from '../config/worker-config.js';
import { Inbox } from '../inbox/inbox.js';
import type { Claim, ClaimedRecord } from '../inbox/inbox-record.js';
import { Control } from '../ingress/control.js';
import { isRefusal } from '../ingress/refusal.js';
import { EventLog } from '../events/event-log.js';
import { Steps } from '../events/steps.js';
import { SessionService } from '../sessions/session.service.js';
import { Attempt } from './attempt.js';
import { AttemptService } from './attempt.service.js';
import { Undecided } from './ask-until-decided.js';
import { RecoveryService } from './recovery.service.js';
import { Shutdown } from './shutdown.js';

const IDLE_MS = 1000;

/** Keeps one slot busy: first what it holds, then one claim after the other. */
@Injectable()
export class SlotService {
  constructor(
    private readonly config: WorkerConfig,
    private readonly inbox: Inbox,
    private readonly control: Control,
    private readonly sessions: SessionService,
    private readonly attempts: AttemptService,
    private readonly recovery: RecoveryService,
    private readonly shutdown: Shutdown,
    private readonly steps: Steps,
    private readonly log: EventLog,
  ) {}

  /**
   * Resolves once the slot is empty and claims nothing more, or the worker leaves. What fails in one slot ends no other:
   * the slot is taken up again as after a crash, from its record.
   */
  async run(slot: number): Promise<void> {
    const backOff = new BackOff();
    while (!(await this.#keepBusy(slot)) && (await pause(backOff.next(), this.shutdown.leaving)));
  }

  /** Whether there is nothing left to do. */
  async #keepBusy(slot: number): Promise<boolean> {
    try {
      const record = this.inbox.record(slot);
      if (record && record.state !== 'claiming') {
        await this.#occupied(() => this.recovery.recover(this.#attempt(slot, record), record));
      }
      while (slot < this.config.slots && !this.shutdown.draining.aborted) await this.#claim(slot);
      return true;
    } catch (error) {
      if (error instanceof Undecided) return true;
      this.log.failure('slot_failed', error, { slot });
      return false;
    }
  }

  /** Asks with one claim until it is offered, fenced, or nothing more is to be claimed; then the claim is kept. */
  async #claim(slot: number): Promise<void> {
    const claim = await this.#claimOf(slot);
    const backOff = new BackOff();
    while (!this.shutdown.draining.aborted) {
      const sentAtMs = monotonicMs();
      const answer = await this.#ask(slot, claim, backOff);
      if (answer === 'fenced') return this.inbox.forget(slot);
      if (typeof answer !== 'number') return this.#accept(slot, answer, sentAtMs);
      await pause(answer, this.shutdown.draining);
    }
  }

  /** On the disk before it is sent, so that a lost answer is found again. */
  async #claimOf(slot: number): Promise<Claim> {
    const record = this.inbox.record(slot);
    if (record) return record.claim;
    const claim = { offerId: randomUUID(), leaseToken: randomBytes(32).toString('base64url') };
    await this.inbox.begin(slot, claim);
    return claim;
  }

  /** The offer; or that the claim is over; or how long to wait before the next question, in milliseconds. */
  async #ask(slot: number, claim: Claim, backOff: BackOff): Promise<Offer | 'fenced' | number> {
    try {
      const answer = await this.sessions.within((session, workerGeneration) =>
        this.control.claim(session, { workerGeneration, ...claim }),
      );
      backOff.reset();
      return answer.offer ?? jittered(answer.retryAfterMs ?? IDLE_MS);
    } catch (error) {
      if (isRefusal(error, 'worker_offer_fenced')) return 'fenced';
      this.log.failure('claim_failed', error, { slot });
      return backOff.next(error);
    }
  }

  async #accept(slot: number, offer: Offer, sentAtMs: number): Promise<void> {
    const accepted = await this.inbox.advance(slot, { kind: 'offered', offer });
    if (accepted.state !== 'accepted') return;
    const attempt = this.#attempt(slot, accepted);
    const { deliveryKind } = offer;
    this.steps.reached('claimed', { ...attempt.names, offerId: offer.offerId, deliveryKind });
    await this.#occupied(async () => {
      // A repeated answer may be old: only the first one grants anything.
      if (deliveryKind === 'lease_recovery') return this.recovery.recover(attempt, accepted);
      attempt.lease.anchor(sentAtMs);
      return this.attempts.carry(attempt);
    });
  }

  #attempt(slot: number, record: ClaimedRecord): Attempt {
    const { control, sessions, log } = this;
    return new Attempt(slot, record, this.config.leaseDurationMs, { control, sessions, log });
  }

  async #occupied(act: () => Promise<void>): Promise<void> {
    this.sessions.occupy();
    try {
      await act();
    } finally {
      this.sessions.vacate();
    }
  }
}
