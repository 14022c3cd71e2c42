import type { ReasonCode } from '@valise/contracts/failure';

/** Why an attempt may not go on. The first reason stays; losing the lease also ends all patience. */
export class Halt {
  readonly #requested = new AbortController();
  readonly #urgent = new AbortController();
  #reasonCode: ReasonCode | null = null;

  /** Aborted once the attempt may not go on. */
  get signal(): AbortSignal {
    return this.#requested.signal;
  }

  /** Aborted once nothing of the attempt may live a moment longer than it takes to end it. */
  get urgent(): AbortSignal {
    return this.#urgent.signal;
  }

  get reasonCode(): ReasonCode | null {
    return this.#reasonCode;
  }

  request(reasonCode: ReasonCode): void {
    this.#reasonCode ??= reasonCode;
    this.#requested.abort();
    if (reasonCode === 'lease_lost') this.#urgent.abort();
  }

  /** @throws AttemptRefused with the reason, once the attempt may not go on */
  throwIfRequested(): void {
    if (this.signal.aborted) throw new AttemptRefused(this.#reasonCode);
  }
}

/** The attempt will not start: nothing of it ran. */
export class AttemptRefused extends Error {
  override readonly name = 'AttemptRefused';

  constructor(readonly reasonCode: ReasonCode | null) {
    super(reasonCode ?? 'refused');
  }
}
