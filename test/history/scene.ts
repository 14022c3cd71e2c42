import { randomUUID } from 'node:crypto';
import { leaseTokenDigest } from '@valise/contracts/documents';
import type { Offer } from '@valise/contracts/wire';
import { fenceOf, type Held } from '../support/held-attempt.js';
import { OPERATOR, plainSpec, PROJECT, publication } from '../support/published-task.js';
import type { TestWorker } from '../support/worker-session.js';
import type { Database, ShownFence } from './history.js';
import type { Random } from './random.js';
import type { Recorder } from './recorder.js';
import type { Stage } from './stage.js';

/** What its worker, or anybody who stole the worker's memory, knows of a claim. */
export interface Memory {
  readonly held: Held;
  /** The largest lease version that was answered. */
  version: number;
  phase: 'claimed' | 'starting' | 'running' | 'over';
}

/** What all players share. */
export class Scene {
  readonly memories: Memory[] = [];
  readonly workerIds: string[] = [];
  readonly runIds: string[] = [];
  readonly taskIds: string[] = [];
  /** How many workers found nothing to claim since a run was started last. */
  hungry = 0;
  /** Whether something happens besides the play that needs the players to go on. */
  needed = false;
  private time = Promise.resolve();

  constructor(
    readonly database: Database,
    readonly stage: Stage,
    readonly recorder: Recorder,
    readonly random: Random,
    private readonly operations: number,
  ) {}

  get over(): boolean {
    return this.recorder.begun >= this.operations && !this.needed;
  }

  /** Tasks with references and a timeout, with references, and without either. */
  async publishTasks(): Promise<void> {
    const bundled = publication();
    const config = bundled.spec.config as Record<string, unknown>;
    const timed = { ...bundled.spec, config: { ...config, timeoutMs: 600_000 } };
    for (const spec of [bundled.spec, timed, timed, plainSpec({ timeoutMs: 600_000 })]) {
      const taskId = `task-${randomUUID()}`;
      await this.stage.tasks.publish(OPERATOR, PROJECT, taskId, publication({ spec }));
      this.taskIds.push(taskId);
    }
  }

  /** The lease has run out, as if its time had passed: no more than that happens to the row. */
  expireLease(attemptId: string): Promise<void> {
    return this.pass(
      'UPDATE leases SET expires_at_ms = clock_ms() - 1 WHERE attempt_id = $1 AND expires_at_ms > clock_ms()',
      attemptId,
    );
  }

  /** Time passes for one row, after whatever it passes for at this moment. */
  pass(statement: string, id: string): Promise<void> {
    this.time = this.time.then(async () => {
      await this.database.query(statement, [id]);
    });
    return this.time;
  }

  /** One of the last claims, so that many hands reach for the same few attempts. */
  recentMemory(): Memory | undefined {
    const recent = this.memories.slice(-48);
    const starting = recent.filter(({ phase }) => phase === 'starting');
    return this.random.pick(starting.length > 0 && this.random.chance(0.5) ? starting : recent);
  }
}

/** What a worker knows of a claim when it has just been answered. */
export function rememberClaim(worker: TestWorker, offer: Offer, leaseToken: string): Memory {
  const held = { worker, offer, fence: fenceOf(worker, offer, leaseToken) };
  return { held, version: offer.lease.version, phase: 'claimed' };
}

export function shown({ held, version }: Memory): ShownFence {
  const { fence, worker } = held;
  return {
    attemptId: fence.attemptId,
    sessionId: worker.sessionId,
    workerGeneration: fence.workerGeneration,
    offerId: fence.offerId,
    leaseGeneration: fence.leaseGeneration,
    tokenDigest: leaseTokenDigest(fence.leaseToken),
    version,
  };
}

/** The same claim, shown with the version it is remembered with. */
export function asRemembered({ held, version }: Memory): Held {
  return { ...held, fence: { ...held.fence, expectedLeaseVersion: version } };
}
