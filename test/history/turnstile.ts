import { AsyncLocalStorage } from 'node:async_hooks';
import { until } from '../support/until.js';
import type { Pace } from './stage.js';

interface Visit {
  /** How many points are passed before the one at which it stops. */
  left: number;
  readonly arrive: () => void;
  readonly opened: Promise<void>;
}

/** Stops one act between two statements of its transactions while something else happens. */
export class Turnstile implements Pace {
  private readonly visits = new AsyncLocalStorage<Visit>();

  /** `isBlocked` answers whether somebody waits for a lock. */
  constructor(private readonly isBlocked: () => Promise<boolean>) {}

  async before(): Promise<void> {
    const visit = this.visits.getStore();
    if (!visit) return;
    visit.left -= 1;
    if (visit.left !== -1) return;
    visit.arrive();
    await visit.opened;
  }

  /**
   * Begins `act`, holds it before its statement or COMMIT number `point` (from 0) until `other` is done or waits for one
   * of its locks, and lets both come to their end. False when `act` ended before that point; `other` came afterwards.
   */
  async interrupt(
    point: number,
    act: () => Promise<unknown>,
    other: () => Promise<unknown>,
  ): Promise<boolean> {
    const arrival = gate();
    const opening = gate();
    const visit: Visit = { left: point, arrive: arrival.open, opened: opening.opened };
    const acting = this.visits.run(visit, act);
    const isInside = await Promise.race([arrival.opened.then(() => true), acting.then(() => false)]);
    const interrupting = other();
    if (isInside) await this.doneOrBlocked(interrupting);
    opening.open();
    await Promise.all([acting, interrupting]);
    return isInside;
  }

  private async doneOrBlocked(act: Promise<unknown>): Promise<void> {
    let isDone = false;
    const done = (): void => {
      isDone = true;
    };
    act.then(done, done);
    await until(
      'what interrupts to end or to wait for a lock',
      async () => isDone || (await this.isBlocked()),
    );
  }
}

function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}
