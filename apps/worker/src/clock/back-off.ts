import { retryAfterOf } from '../ingress/refusal.js';

const FIRST_MS = 500;

/** How long to wait before the next try: twice as long each time with full jitter, and never less than control asked for. */
export class BackOff {
  #ceilingMs = FIRST_MS;

  constructor(private readonly longestMs = 10_000) {}

  next(error?: unknown): number {
    const waitMs = (0.5 + Math.random() / 2) * this.#ceilingMs;
    this.#ceilingMs = Math.min(this.#ceilingMs * 2, this.longestMs);
    return Math.max(waitMs, retryAfterOf(error) ?? 0);
  }

  reset(): void {
    this.#ceilingMs = FIRST_MS;
  }
}
