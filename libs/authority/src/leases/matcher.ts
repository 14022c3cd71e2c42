import {
  matchPlacement,
  parseCapabilities,
  type Placement,
  type WorkerCapabilities,
} from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import type { Session } from '../sessions/session.js';
import type { Worker } from '../workers/worker.js';

/** Which queued revisions fit one worker, and how well; each is judged once, however many attempts have it. */
export class Matcher {
  /** Whether something could not be read that decides whether a revision fits. */
  unreadable = false;
  readonly #scores = new Map<string, number | null>();
  readonly #capabilities: WorkerCapabilities | null;

  constructor(
    private readonly worker: Worker,
    private readonly session: Session,
    private readonly availableSlots: number,
    private readonly nowMs: number,
  ) {
    this.#capabilities = capabilitiesOf(session);
  }

  knows(executionDigest: string): boolean {
    return this.#scores.has(executionDigest);
  }

  /** The revision's score, or null for one that does not fit or was never judged. */
  scoreOf(executionDigest: string): number | null {
    return this.#scores.get(executionDigest) ?? null;
  }

  /** Judges a revision by its placement. */
  judge(executionDigest: string, placement: Placement | null): void {
    if (!placement || !this.#capabilities) {
      this.refuse(executionDigest);
      return;
    }
    const { matches, score } = matchPlacement({
      worker: {
        status: this.session.status,
        availableSlots: this.availableSlots,
        leaseExpiresAtMs: this.session.expiresAtMs,
        capabilities: this.#capabilities,
        operatorLabels: this.worker.labels,
      },
      placement,
      observedAtMs: this.nowMs,
    });
    this.#scores.set(executionDigest, matches ? score : null);
  }

  /** The revision cannot be read, and does not fit anybody. */
  refuse(executionDigest: string): void {
    this.unreadable = true;
    this.#scores.set(executionDigest, null);
  }
}

function capabilitiesOf({ capabilitiesJson }: Session): WorkerCapabilities | null {
  try {
    return parseCapabilities(capabilitiesJson ?? '');
  } catch (error) {
    if (error instanceof ValiseError) return null;
    throw error;
  }
}
