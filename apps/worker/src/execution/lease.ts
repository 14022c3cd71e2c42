import { ValiseError } from '@valise/contracts/failure';
import { LEASE_CONTROL_SCHEMA, type LeaseFence, type StopReason } from '@valise/contracts/wire';
import { BackOff } from '../clock/back-off.js';
import { monotonicMs } from '../clock/monotonic.js';
import { jittered, pause } from '../clock/pause.js';
import type { Claim, ClaimedRecord } from '../inbox/inbox-record.js';
import type { Control } from '../ingress/control.js';
import type { Message } from '../ingress/message.js';
import { isFence } from '../ingress/refusal.js';
import type { EventLog } from '../events/event-log.js';
import type { SessionService } from '../sessions/session.service.js';
import type { Halt } from './halt.js';

const LONGEST_QUESTION_MS = 10_000;
const LONGEST_WAIT_MS = 2000;
const SHORTEST_WAIT_MS = 50;
const MAX_MARGIN_MS = 5000;

export interface LeaseSurroundings {
  readonly control: Control;
  readonly sessions: SessionService;
  readonly log: EventLog;
}

/**
 * The worker's hold on one attempt. It lasts, on the monotonic clock, from the moment the granting question was *sent*
 * until a margin before control's expiry, and is prolonged at every third of its duration. Only control's answer to a
 * renewal, or that clock, ends it; the end, and every stop that control asks for, is told to the attempt's halt.
 */
export class Lease {
  readonly #claim: Claim;
  readonly #released = new AbortController();
  #version: number;
  /** When the worker gives the lease up by its own clock; null until it was granted once. */
  #fenceAtMs: number | null = null;
  #fenceTimer: NodeJS.Timeout | null = null;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly record: ClaimedRecord,
    private readonly durationMs: number,
    private readonly halt: Halt,
    private readonly surroundings: LeaseSurroundings,
  ) {
    this.#claim = record.claim;
    this.#version = record.offer.lease.version;
  }

  /** How long before control's expiry the worker gives up, in milliseconds. */
  get marginMs(): number {
    return Math.min(MAX_MARGIN_MS, this.durationMs / 4);
  }

  /** What proves the lease, with the newest version that is known. */
  get fence(): Message<LeaseFence> {
    const { candidate, worker, lease } = this.record.offer;
    return {
      runId: candidate.runId,
      attemptId: candidate.attemptId,
      workerGeneration: worker.generation,
      offerId: this.#claim.offerId,
      leaseGeneration: lease.leaseGeneration,
      leaseToken: this.#claim.leaseToken,
      expectedLeaseVersion: this.#version,
    };
  }

  /** Aborted once the attempt is over and needs no lease. */
  get released(): AbortSignal {
    return this.#released.signal;
  }

  /** Whether the lease holds at this moment. */
  get isHeld(): boolean {
    return !this.halt.urgent.aborted && this.holdsForMs !== null && this.holdsForMs > 0;
  }

  /** How long the lease holds from now on, in milliseconds; not positive once it has run out, null before it was granted. */
  get holdsForMs(): number | null {
    return this.#fenceAtMs === null ? null : this.#fenceAtMs - monotonicMs();
  }

  /** How long nobody else can hold the attempt, in milliseconds: until control's expiry; 0 when that is not known. */
  get isOursForMs(): number {
    return Math.max(0, (this.holdsForMs ?? -this.marginMs) + this.marginMs);
  }

  /** Control granted the lease in answer to a question that was sent at `sentAtMs`. */
  anchor(sentAtMs: number): void {
    this.#fenceAtMs = sentAtMs + this.durationMs - this.marginMs;
    if (this.#fenceTimer) clearTimeout(this.#fenceTimer);
    if (!this.released.aborted) this.#watch(this.#fenceAtMs);
  }

  /** Timers count whole milliseconds from a time that the loop has cached, so one may be early: it looks again. */
  #watch(fenceAtMs: number): void {
    const restMs = fenceAtMs - monotonicMs();
    if (restMs <= 0) {
      this.#lose('own_clock');
      return;
    }
    this.#fenceTimer = setTimeout(
      () => {
        this.#watch(fenceAtMs);
      },
      Math.ceil(restMs) + 1,
    );
  }

  /** One question of the attempt at a time: a delivery and a renewal never overlap. */
  serially<T>(ask: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(ask, ask);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /**
   * Control has confirmed the lease, or the halt knows why not.
   * @throws ValiseError when control did not decide
   */
  renew(): Promise<void> {
    return this.serially(() => this.#renewNow());
  }

  /** Asks until control has decided or the lease has run out by our own clock, where it was ever anchored. */
  async confirm(until: AbortSignal): Promise<void> {
    const backOff = new BackOff(2000);
    let waitMs = 0;
    while (await pause(waitMs, this.halt.urgent, until)) {
      try {
        await this.renew();
        return;
      } catch (error) {
        this.surroundings.log.failure('renew_failed', error, this.#names());
        waitMs = this.#waitMs(backOff.next(error));
      }
    }
  }

  /** Control may ask for more patience than the lease has: a third of what is left leaves room for two more tries. */
  #waitMs(askedMs: number): number {
    return Math.min(askedMs, LONGEST_WAIT_MS, Math.max(SHORTEST_WAIT_MS, (this.holdsForMs ?? Infinity) / 3));
  }

  /**
   * Renews at every third of the duration, give or take, until the lease is lost or released; at once when it was never
   * anchored. Never rejects.
   */
  async keep(): Promise<void> {
    const ended = AbortSignal.any([this.released, this.halt.urgent]);
    if (!this.isHeld) await this.confirm(ended);
    while (await pause(jittered(this.durationMs / 3), ended)) await this.confirm(ended);
  }

  /** No more renewals: control has acknowledged the end, or there is nothing left to hold. */
  release(): void {
    this.#released.abort();
    if (this.#fenceTimer) clearTimeout(this.#fenceTimer);
  }

  async #renewNow(): Promise<void> {
    if (this.halt.urgent.aborted) return;
    const { control, sessions } = this.surroundings;
    const sentAtMs = monotonicMs();
    const deadlineMs = Math.min(LONGEST_QUESTION_MS, this.holdsForMs ?? LONGEST_QUESTION_MS);
    if (deadlineMs <= 0) {
      this.#lose('own_clock');
      return;
    }
    const { projectId } = this.record.offer.candidate;
    const question = { schema: LEASE_CONTROL_SCHEMA, ...this.fence, projectId } as const;
    try {
      const answer = await sessions.within((session) => control.renew(session, question, deadlineMs));
      this.#version = Math.max(this.#version, answer.leaseVersion);
      if (answer.status === 'terminal') this.#lose('terminal');
      else if (answer.stop) this.halt.request(reasonOfStop(answer.stop.reason));
      else this.anchor(sentAtMs);
    } catch (error) {
      if (!isFence(error)) throw error;
      this.#lose(error instanceof ValiseError ? error.code : 'fenced');
    }
  }

  #lose(rule: string): void {
    if (this.halt.urgent.aborted || this.released.aborted) return;
    this.surroundings.log.info('fenced', { ...this.#names(), rule });
    this.halt.request('lease_lost');
  }

  #names(): { runId: string; attemptId: string } {
    const { runId, attemptId } = this.record.offer.candidate;
    return { runId, attemptId };
  }
}

function reasonOfStop(reason: StopReason): 'stopped_by_timeout' | 'stopped_by_operator' {
  return reason === 'timeout' ? 'stopped_by_timeout' : 'stopped_by_operator';
}
