import { monotonicMs } from './monotonic.js';

/** For so long nobody else has a turn. */
const SLICE_MS = 10;

/** Takes the steps of `work`, up to its end or until somebody returns from it; between slices of them others have their turn. */
export async function inSlices(work: Iterator<void, unknown>): Promise<void> {
  let end = monotonicMs() + SLICE_MS;
  while (work.next().done !== true) {
    if (monotonicMs() < end) continue;
    await new Promise(setImmediate);
    end = monotonicMs() + SLICE_MS;
  }
}
