import { Injectable } from '@nestjs/common';

/** The three stages in which the worker leaves. */
@Injectable()
export class Shutdown {
  readonly #draining = new AbortController();
  readonly #stopping = new AbortController();
  readonly #leaving = new AbortController();

  /** Nothing more is claimed; what runs goes on. */
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  /** What runs is stopped. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** What control has not acknowledged stays in the inbox for the next start. */
  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  drain(): void {
    this.#draining.abort();
  }

  stop(): void {
    this.drain();
    this.#stopping.abort();
  }

  leave(): void {
    this.stop();
    this.#leaving.abort();
  }
}
