import { randomUUID } from 'node:crypto';
import { Dawdling } from './dawdling.js';
import { newLeaseToken } from '../support/held-attempt.js';
import { OPERATOR, PROJECT } from '../support/published-task.js';
import { newSessionId, registration } from '../support/worker-session.js';
import type { Database, History } from './history.js';
import { OperatorPlayer } from './operator-player.js';
import { Random } from './random.js';
import { Recorder } from './recorder.js';
import { Scene } from './scene.js';
import { Stage } from './stage.js';
import { TimePlayer } from './time-player.js';
import { layTrail, readFinal, readTrail } from './trail.js';
import { WorkerPlayer } from './worker-player.js';

const WORKERS = 32;
const OPERATORS = 4;
const SWEEPERS = 3;

export interface PlayOptions {
  readonly operations: number;
  readonly seed: number;
  readonly lowered: boolean;
  /** Something else that happens while they play; they go on until it is done. */
  readonly meanwhile?: (stage: Stage, recorder: Recorder) => Promise<void>;
}

export interface Played extends History {
  readonly faults: readonly unknown[];
  readonly retried: number;
}

/**
 * 32 workers, operators, sweepers and time work against one database at once until `operations` calls have been made
 * and what happens meanwhile is done; then time passes until nothing happens any more. The seed decides what they try, not who comes first.
 */
export async function play(database: Database, options: PlayOptions): Promise<Played> {
  const random = new Random(options.seed);
  const stage = await Stage.open(database, { lowered: options.lowered, pace: new Dawdling(random) });
  try {
    const recorder = new Recorder();
    const scene = new Scene(database, stage, recorder, random, options.operations);
    await layTrail(database);
    await scene.publishTasks();
    const players = [];
    for (let worker = 0; worker < WORKERS; worker += 1) {
      const workerId = `worker-${worker}`;
      await stage.workers.put(OPERATOR, workerId, { status: 'active', projects: [PROJECT], labels: {} });
      scene.workerIds.push(workerId);
      players.push(new WorkerPlayer(scene, workerId));
    }
    const time = new TimePlayer(scene);
    const operators = Array.from({ length: OPERATORS }, () => new OperatorPlayer(scene));
    await operators[0]?.startRuns(WORKERS);
    const sweepers = Array.from({ length: SWEEPERS }, () => time.sweep());
    scene.needed = options.meanwhile !== undefined;
    const meanwhile = options.meanwhile?.(stage, recorder).finally(() => {
      scene.needed = false;
    });
    const playing = [...players, ...operators, time].map((player) => player.play());
    await Promise.all([...playing, ...sweepers, meanwhile]);
    return await conclude(scene, time);
  } finally {
    await stage.close();
  }
}

/** Time passes until nothing happens any more: all that can be known of the play. */
export async function conclude(scene: Scene, time: TimePlayer): Promise<Played> {
  const { database, recorder, stage } = scene;
  await time.runOut();
  const moves = await readTrail(database);
  const final = await readFinal(database);
  const claimable = await claimAll(stage);
  const { calls, faults } = recorder;
  return { calls, moves, final, claimable, faults, retried: stage.transactions.counts.retried };
}

/** A worker that comes afterwards claims whatever waits. */
async function claimAll(stage: Stage): Promise<string[]> {
  const sessionId = newSessionId();
  const workerId = 'worker-afterwards';
  await stage.workers.put(OPERATOR, workerId, { status: 'active', projects: [PROJECT], labels: {} });
  const slots = { maxConcurrentRuns: 1024, availableSlots: 1024 };
  const { generation } = await stage.sessions.register({ workerId, sessionId }, registration(slots));
  const claimed: string[] = [];
  for (;;) {
    const { offer } = await stage.leases.claim(
      { workerId, sessionId },
      { workerGeneration: generation, offerId: randomUUID(), leaseToken: newLeaseToken() },
    );
    if (!offer) return claimed;
    claimed.push(offer.candidate.attemptId);
  }
}
