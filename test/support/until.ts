import { setTimeout as pause } from 'node:timers/promises';

const DEADLINE_MS = 60_000;
const LOOK_EVERY_MS = 10;

/** What a look answers that has found nothing yet. */
type Nothing = false | null | undefined;

export interface Patience {
  /** Default: 60,000. */
  readonly deadlineMs?: number;
  /** Between two looks. Default: 10. */
  readonly everyMs?: number;
  /** What helps whoever reads that it was in vain. */
  readonly situation?: () => string;
}

/**
 * Looks again and again, and returns the first thing found. @throws Error that says `what` was waited for; or what a look
 * throws, at once
 */
export async function until<Found>(
  what: string,
  look: () => Found | Nothing | Promise<Found | Nothing>,
  { deadlineMs = DEADLINE_MS, everyMs = LOOK_EVERY_MS, situation = () => '' }: Patience = {},
): Promise<Found> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found !== false && found !== null && found !== undefined) return found;
    if (performance.now() > deadline) {
      throw new Error(`not within ${deadlineMs / 1000} s: ${what}\n${situation()}`.trimEnd());
    }
    await pause(everyMs);
  }
}
