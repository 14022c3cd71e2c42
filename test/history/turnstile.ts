import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Pace } from './stage.js';

interface Visit {
  /** How many points are passed before the one at which it stops. */
  left: number;
  readonly arrive: () => void;
  readonly opened: Promise<void>;
}

const DEADLINE_MS = 30_000;

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
    const done = act.then(() => true);
    const deadline = performance.now() + DEADLINE_MS;
    while (!(await Promise.race([done, pause(2, false)]))) {
      if (await this.isBlocked()) return;
      if (performance.now() > deadline) throw new Error('what interrupts neither ends nor waits for a lock');
    }
  }
}

function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}
