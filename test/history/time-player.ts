import { setTimeout as pause } from 'node:timers/promises';
import type { Scene } from './scene.js';

// What the passing of time does to rows; nothing else may.
const DELIVERY = 'UPDATE leases SET open_since_ms = open_since_ms - 5000 WHERE attempt_id = $1';
const DEADLINE = `UPDATE runs SET deadline_at_ms = clock_ms() - 5000
   WHERE run_id = $1 AND deadline_at_ms > clock_ms()`;
const SESSION = 'UPDATE worker_sessions SET expires_at_ms = clock_ms() - 1 WHERE worker_id = $1';

/** Time: leases, sessions, deadlines and deliveries run out, and the sweepers see to it. */
export class TimePlayer {
  constructor(private readonly scene: Scene) {}

  async play(): Promise<void> {
    const { random } = this.scene;
    while (!this.scene.over) {
      await pause(random.below(40));
      const memory = this.scene.recentMemory();
      if (!memory) continue;
      const { attemptId, runId } = memory.held.fence;
      await random.weighted<() => Promise<void>>([
        [6, () => this.scene.expireLease(attemptId)],
        [4, () => this.scene.pass(DELIVERY, attemptId)],
        [3, () => this.passDeadline(runId)],
        [0.5, () => this.scene.pass(SESSION, random.pick(this.scene.workerIds) ?? '')],
      ])();
    }
  }

  passDeadline(runId: string): Promise<void> {
    return this.scene.pass(DEADLINE, runId);
  }

  /** Sweeps until everybody is done. */
  async sweep(): Promise<void> {
    while (!this.scene.over) {
      await pause(this.scene.random.below(60));
      await this.sweepOnce();
    }
  }

  /** Everything has run out, and nothing is left to be swept. */
  async runOut(): Promise<void> {
    const { database } = this.scene;
    await database.query(`UPDATE leases SET expires_at_ms = LEAST(expires_at_ms, clock_ms() - 1),
       open_since_ms = open_since_ms - 5000 WHERE state = 'leased'`);
    await database.query('UPDATE worker_sessions SET expires_at_ms = clock_ms() - 1');
    for (let sweeps = 0; sweeps < 1000; sweeps += 1) if (await this.sweepOnce()) return;
    throw new Error('the sweeper never comes to an end');
  }

  /** True when there was nothing to do. */
  async sweepOnce(): Promise<boolean> {
    const report = await this.scene.recorder.call(
      { kind: 'sweep' },
      () => this.scene.stage.sweeper.sweep(),
      () => ({ answer: 'swept' }),
    );
    return report !== null && report.requeued + report.ended + report.waiting + report.stopsRequested === 0;
  }
}
