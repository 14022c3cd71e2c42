import { setTimeout as delay } from 'node:timers/promises';

const LOOK_EVERY_MS = 50;
const DEADLINE_MS = 100_000;

/** Resolves once `fact` holds. @throws Error when it does not within 100 s, or whatever `fact` throws */
export async function eventually(fact: () => boolean): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!fact()) {
    if (performance.now() > deadline) throw new Error(`not within ${DEADLINE_MS / 1000} s: ${String(fact)}`);
    await delay(LOOK_EVERY_MS);
  }
}
