import { ValiseError, type FailureCode } from '@valise/contracts/failure';

/** What a request waits for once its turn has come: the database alone, or also whoever sends or reads megabytes. */
export const KINDS = ['call', 'transfer'] as const;
export type Kind = (typeof KINDS)[number];

/** How many requests of one kind a listener takes. */
export interface AdmissionLimits {
  /** At work at once. */
  readonly running: number;
  /** Of these, one caller's. */
  readonly runningPerCaller: number;
  /** In the house at once, those at work included. */
  readonly places: number;
  /** Of these, one caller's. */
  readonly placesPerCaller: number;
  /** How long a request waits for its turn. */
  readonly waitMs: number;
}

const RETRY_AFTER_MS = 1000;

/** What one caller has in the house. */
interface Caller {
  readonly id: string;
  readonly waiting: Place[];
  places: number;
  running: number;
}

/**
 * Bounds the requests of one kind. Whoever comes takes a place or is turned away at once; with its body read it waits
 * for its turn. Turns go round by caller, so that hundreds of requests of one delay another's by one turn.
 */
export class Admission {
  /** Requests turned away since the start: the caller had too many, all had, or the turn did not come in time. */
  readonly refused = { caller: 0, listener: 0, late: 0 };
  private readonly callers = new Map<string, Caller>();
  /** Callers with a request that waits, the next one's first. */
  private readonly round = new Set<Caller>();
  private places = 0;
  private running = 0;

  constructor(
    readonly limits: AdmissionLimits,
    private readonly unavailable: FailureCode & `${string}_unavailable`,
  ) {}

  /** Requests in the house; those that are not at work wait for their body, their turn or the end of their answer. */
  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.running, waiting: this.places - this.running };
  }

  /**
   * A place for one request of the caller; whoever takes it leaves it.
   * @throws ValiseError rate_limited when the caller has too many, the listener's `…_unavailable` when all have
   */
  take(callerId: string): Place {
    const caller = this.callers.get(callerId) ?? { id: callerId, waiting: [], places: 0, running: 0 };
    if (caller.places >= this.limits.placesPerCaller) {
      this.refused.caller += 1;
      throw new ValiseError('rate_limited', { rule: 'caller', retryAfterMs: RETRY_AFTER_MS });
    }
    if (this.places >= this.limits.places) throw this.refusal('listener');
    this.places += 1;
    caller.places += 1;
    this.callers.set(callerId, caller);
    return new Place(this, caller);
  }

  /** For places alone. */
  queue(place: Place, caller: Caller): void {
    caller.waiting.push(place);
    this.round.add(caller);
    this.giveTurns();
  }

  /** For places alone. */
  unqueue(place: Place, caller: Caller): void {
    const index = caller.waiting.indexOf(place);
    if (index >= 0) caller.waiting.splice(index, 1);
    if (caller.waiting.length === 0) this.round.delete(caller);
  }

  /** For places alone. */
  endTurn(caller: Caller): void {
    this.running -= 1;
    caller.running -= 1;
    this.giveTurns();
  }

  /** For places alone. */
  vacate(caller: Caller): void {
    this.places -= 1;
    caller.places -= 1;
    if (caller.places === 0) this.callers.delete(caller.id);
  }

  /** For places alone. */
  refusal(reason: 'listener' | 'late'): ValiseError {
    this.refused[reason] += 1;
    return new ValiseError(this.unavailable, { rule: reason, retryAfterMs: RETRY_AFTER_MS });
  }

  /** One to each caller that waits, and again, while there is room. */
  private giveTurns(): void {
    for (const caller of this.round) {
      if (this.running >= this.limits.running) return;
      if (caller.running >= this.limits.runningPerCaller) continue;
      const place = caller.waiting.shift();
      this.round.delete(caller);
      // A set is walked in the order of insertion, and what is added on the way is walked too.
      if (caller.waiting.length > 0) this.round.add(caller);
      this.running += 1;
      caller.running += 1;
      place?.begin();
    }
  }
}

/** What waits for a turn: to go on, or to hear why not. */
interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: ValiseError) => void;
}

const callerHasLeft = (): ValiseError => new ValiseError('request_timeout');

/** One request's place, from its head to the end of its answer. */
export class Place {
  private waiter: Waiter | null = null;
  private timer: NodeJS.Timeout | undefined;
  private isRunning = false;
  private hasLeft = false;
  /** Called once the place is somebody else's. */
  onVacated = (): void => undefined;

  constructor(
    private readonly admission: Admission,
    private readonly caller: Caller,
  ) {}

  /**
   * Waits for the turn.
   * @throws ValiseError the listener's `…_unavailable` when it does not come in time, request_timeout when the caller
   * has left
   */
  turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiter = { resolve, reject };
      if (this.hasLeft) {
        this.giveUp(callerHasLeft);
        return;
      }
      this.admission.queue(this, this.caller);
      if (this.isRunning) return;
      this.timer = setTimeout(() => {
        this.giveUp(() => this.admission.refusal('late'));
      }, this.admission.limits.waitMs);
    });
  }

  /** For the admission alone: the turn has come. */
  begin(): void {
    clearTimeout(this.timer);
    this.isRunning = true;
    this.waiter?.resolve();
    this.waiter = null;
  }

  /** What the turn was for is done, though files or the answer may take their time: the turn is somebody else's. */
  rest(): void {
    if (!this.isRunning) return;
    this.isRunning = false;
    this.admission.endTurn(this.caller);
    if (this.hasLeft) this.vacate();
  }

  /**
   * The caller is gone: a turn that was waited for does not come any more. One that has come, and the place with it, lasts
   * for as long as what it is for: who leaves and comes again does not have two.
   */
  leave(): void {
    if (this.hasLeft) return;
    this.hasLeft = true;
    this.giveUp(callerHasLeft);
    if (!this.isRunning) this.vacate();
  }

  private vacate(): void {
    this.admission.vacate(this.caller);
    this.onVacated();
  }

  /** Most requests leave when nobody waits any more: for them no reason is made, with its stack. */
  private giveUp(why: () => ValiseError): void {
    if (!this.waiter) return;
    clearTimeout(this.timer);
    this.admission.unqueue(this, this.caller);
    this.waiter.reject(why());
    this.waiter = null;
  }
}
