import { setTimeout as pause } from 'node:timers/promises';
import { ValiseError } from '@valise/contracts/failure';
import type { Call, CallKind, ShownFence } from './history.js';

const AGAIN_MS = 25;

/** What is known of a call before it is made. */
export interface Asked {
  readonly kind: CallKind;
  readonly workerId?: string;
  readonly fence?: ShownFence;
  readonly requestId?: string;
}

/** What its answer says. */
export type Answered = Pick<Call, 'answer'> &
  Partial<Pick<Call, 'attemptId' | 'leaseGeneration' | 'leaseVersion' | 'recordId'>>;

/** Notes every call that is made: nothing that was said is lost, and nobody waits for anybody. */
export class Recorder {
  readonly calls: Call[] = [];
  /** The first few faults, to be read by a person. */
  readonly faults: unknown[] = [];
  begun = 0;

  /** Makes the call and notes it. Null when it was refused. */
  async call<T>(asked: Asked, act: () => Promise<T>, answered: (result: T) => Answered): Promise<T | null> {
    this.begun += 1;
    const invokedMs = performance.now();
    try {
      const result = await act();
      this.note(asked, invokedMs, answered(result));
      return result;
    } catch (error) {
      if (error instanceof ValiseError) {
        const unknown = error.facts.outcome === 'unknown';
        this.note(asked, invokedMs, { answer: unknown ? 'unknown' : error.code });
        // Who is told to come again later does.
        if (error.code.endsWith('_unavailable')) await pause(AGAIN_MS);
      } else {
        this.faults.push(error);
        this.note(asked, invokedMs, { answer: 'fault' });
      }
      return null;
    }
  }

  private note(asked: Asked, invokedMs: number, answered: Answered): void {
    this.calls.push({
      kind: asked.kind,
      workerId: asked.workerId ?? null,
      fence: asked.fence ?? null,
      requestId: asked.requestId ?? null,
      invokedMs,
      answeredMs: performance.now(),
      attemptId: null,
      leaseGeneration: null,
      leaseVersion: null,
      recordId: null,
      ...answered,
    });
  }
}
