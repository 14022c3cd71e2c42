import { evaluatePlacement, normalizePlacement, parseJson } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import type { Session } from '../sessions/session.js';
import type { Worker } from '../workers/worker.js';
import type { Candidate } from './candidate.repository.js';

export interface Match {
  readonly attemptId: string;
  readonly score: number;
}

/** Whether queued attempts fit one worker; each plan is judged once, however many runs have it. */
export class Matcher {
  /** Whether a placement could not be read. */
  unreadable = false;
  readonly #scores = new Map<string, number | null>();

  constructor(
    private readonly worker: Worker,
    private readonly session: Session,
    private readonly availableSlots: number,
    private readonly nowMs: number,
  ) {}

  /** The candidate's run with its match, or nothing. */
  match(candidate: Candidate): [string, Match][] {
    let score = this.#scores.get(candidate.executionDigest);
    if (score === undefined) {
      score = this.judge(candidate.placementJson);
      this.#scores.set(candidate.executionDigest, score);
    }
    return score === null ? [] : [[candidate.runId, { attemptId: candidate.attemptId, score }]];
  }

  private judge(placementJson: string | null): number | null {
    try {
      const { matches, score } = evaluatePlacement({
        worker: {
          status: this.session.status,
          availableSlots: this.availableSlots,
          leaseExpiresAtMs: this.session.expiresAtMs,
          capabilitiesJson: this.session.capabilitiesJson ?? '',
          operatorLabels: this.worker.labels,
        },
        ...(placementJson !== null && { placement: normalizePlacement(parseJson(placementJson)) }),
        observedAtMs: this.nowMs,
      });
      return matches ? score : null;
    } catch (error) {
      if (!(error instanceof ValiseError)) throw error;
      this.unreadable = true;
      return null;
    }
  }
}
