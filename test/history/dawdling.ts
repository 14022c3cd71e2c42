import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from './random.js';
import type { Pace } from './stage.js';

/** How likely a statement leaves late, and by how many milliseconds at most. */
const WITH_LOCKS = { chance: 0.25, atMostMs: 12 };
// What reads before it locks has time to be overtaken, and keeps nobody waiting.
const WITHOUT_LOCKS = { chance: 0.6, atMostMs: 40 };

/** A network that dawdles between statements: races get their time. */
export class Dawdling implements Pace {
  constructor(private readonly random: Random) {}

  async before(...[what, isolation]: Parameters<Pace['before']>): Promise<void> {
    const { chance, atMostMs } = isolation === 'SERIALIZABLE' ? WITHOUT_LOCKS : WITH_LOCKS;
    if (what === 'statement' && this.random.chance(chance)) await pause(this.random.below(atMostMs));
  }
}
