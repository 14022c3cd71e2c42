import { BackOff } from '../clock/back-off.js';
import { pause } from '../clock/pause.js';

/** The question was given up before control decided; it may have been heard. */
export class Undecided extends Error {
  override readonly name = 'Undecided';
}

/**
 * Asks again, ever less often, until control answers.
 * @throws Undecided once `until` is aborted
 */
export async function askUntilDecided<T>(
  ask: () => Promise<T>,
  until: AbortSignal,
  onFailure: (error: unknown) => void,
): Promise<T> {
  const backOff = new BackOff(30_000);
  while (!until.aborted) {
    try {
      return await ask();
    } catch (error) {
      onFailure(error);
      await pause(backOff.next(error), until);
    }
  }
  throw new Undecided();
}
