import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { sha256Hex } from '@valise/contracts/documents';
import type { ReasonCode } from '@valise/contracts/failure';
import type { ActivationResponse } from '@valise/contracts/wire';
import { completion, delivery, renewal, running, type Held } from '../support/postgres-world.js';
import type { CallKind } from './history.js';
import type { Asked } from './recorder.js';
import { asRemembered, shown, type Memory, type Scene } from './scene.js';

const REASONS: readonly (ReasonCode | undefined)[] = [
  undefined,
  'secret_unavailable',
  'worker_restarted',
  'worker_shutdown',
  'lease_lost',
];

/** Whoever speaks about an attempt: its holder, its former holder, or a worker with somebody else's memory. */
export class AttemptPlayer {
  constructor(
    private readonly scene: Scene,
    readonly workerId: string,
  ) {}

  /** Says something about the attempt; mostly what comes next, sometimes anything. */
  async speak(memory: Memory): Promise<void> {
    const { random } = this.scene;
    const { phase } = memory;
    if (random.chance(0.1)) return this.sayAnything(memory);
    if (phase === 'claimed') return this.starting(memory);
    const next = random.weighted<(memory: Memory) => Promise<void>>([
      [phase === 'starting' ? 6 : 0.5, (each) => this.deliver(each)],
      [3, (each) => this.renew(each)],
      [phase === 'starting' ? 2 : 0.2, (each) => this.running(each)],
      [phase === 'running' ? 2 : 0.5, (each) => this.complete(each)],
      [phase === 'starting' ? 0.7 : 0.1, (each) => this.startFailure(each)],
      [phase === 'starting' ? 8 : 0.5, (each) => this.atOnce(each)],
    ]);
    return next(memory);
  }

  /** Two or three things at the same moment, of which only one can be first. */
  async atOnce(memory: Memory): Promise<void> {
    const { random } = this.scene;
    const other = random.weighted<() => Promise<void>>([
      [4, () => this.renew(memory)],
      [4, () => this.scene.expireLease(memory.held.fence.attemptId)],
      [1, () => this.complete(memory)],
      [1, () => this.startFailure(memory)],
    ]);
    const soon = (act: () => Promise<void>) => pause(random.below(20)).then(act);
    await Promise.all([
      this.deliver(memory),
      random.chance(0.6) && soon(() => this.deliver(memory)),
      random.chance(0.8) && soon(other),
    ]);
  }

  private sayAnything(memory: Memory): Promise<void> {
    return this.scene.random.weighted<() => Promise<void>>([
      [1, () => this.starting(memory)],
      [1, () => this.running(memory)],
      [1, () => this.renew(memory)],
      [3, () => this.deliver(memory)],
      [1, () => this.complete(memory)],
      [1, () => this.startFailure(memory)],
    ])();
  }

  /** Now and then a version that the lease had, or never had. */
  private misremembered(memory: Memory): Memory {
    const { random } = this.scene;
    if (!random.chance(0.15)) return memory;
    return { ...memory, version: Math.max(0, memory.version + random.below(4) - 2) };
  }

  private async starting(memory: Memory): Promise<void> {
    const { held, asked } = this.prepare('starting', memory);
    const key = { ...held.worker, workerId: this.workerId };
    const answer = await this.scene.recorder.call(
      asked,
      () => this.scene.stage.attempts.starting(key, held.fence),
      activated(memory, 'starting'),
    );
    if (!answer && this.scene.random.chance(0.7)) memory.phase = 'over';
  }

  private async running(memory: Memory): Promise<void> {
    const { held, asked } = this.prepare('running', memory);
    const key = { ...held.worker, workerId: this.workerId };
    await this.scene.recorder.call(
      asked,
      () => this.scene.stage.attempts.running(key, running(held)),
      activated(memory, 'running'),
    );
  }

  private async startFailure(memory: Memory): Promise<void> {
    const { held, asked } = this.prepare('start_failure', memory);
    const reasonCode = this.scene.random.pick(REASONS);
    await this.scene.recorder.call(
      asked,
      () =>
        this.scene.stage.attempts.startFailure(
          { ...held.worker, workerId: this.workerId },
          { ...held.fence, ...(reasonCode && { reasonCode }) },
        ),
      activated(memory, 'over'),
    );
  }

  private async complete(memory: Memory): Promise<void> {
    const { held, asked } = this.prepare('completion', memory);
    const outcome = this.scene.random.pick(['succeeded', 'failed', 'cancelled', 'timed_out'] as const);
    const exitCode = outcome === 'succeeded' ? 0 : 1;
    const result = { outcome: outcome ?? 'failed', startedAtMs: 1, finishedAtMs: 2, exitCode };
    await this.scene.recorder.call(
      asked,
      () =>
        this.scene.stage.attempts.complete(
          { ...held.worker, workerId: this.workerId },
          completion(held, { result }),
        ),
      ({ status, attemptId }) => {
        memory.phase = 'over';
        return { answer: status, attemptId };
      },
    );
  }

  private async renew(memory: Memory): Promise<void> {
    const { held, asked } = this.prepare('renew', memory);
    const answer = await this.scene.recorder.call(
      asked,
      () => this.scene.stage.leases.renew({ ...held.worker, workerId: this.workerId }, renewal(held)),
      ({ status, leaseVersion }) => {
        if (status !== 'terminal') memory.version = Math.max(memory.version, leaseVersion);
        return { answer: status, attemptId: held.fence.attemptId, leaseVersion };
      },
    );
    if (!answer && this.scene.random.chance(0.7)) memory.phase = 'over';
    // Told to stop, it asks all the same.
    if (answer?.status === 'stop_requested' && this.scene.random.chance(0.8)) await this.deliver(memory);
  }

  private async deliver(memory: Memory): Promise<void> {
    const { held, asked } = this.prepare('deliver', memory);
    const { deliveries } = this.scene.stage;
    const caller = { ...held.worker, workerId: this.workerId, certificateSerial: '01' };
    const requestId = sha256Hex(randomUUID());
    const grant = await this.scene.recorder.call(
      { ...asked, requestId },
      () => deliveries.authorize(caller, delivery(held), requestId),
      ({ recordId, attemptId }) => ({ answer: 'granted', recordId, attemptId }),
    );
    // A worker that is fenced renews and asks again.
    if (!grant && memory.phase !== 'over' && this.scene.random.chance(0.6)) return this.renew(memory);
    // Some controls die before they can say what became of it.
    if (!grant || this.scene.random.chance(0.2)) return;
    const outcome = this.scene.random.weighted([
      [6, 'sent'],
      [2, 'custody_failed'],
      [1, 'aborted'],
    ] as const);
    await this.scene.recorder.call(
      { kind: 'settle', workerId: this.workerId },
      () => deliveries.settle(grant, outcome),
      () => ({ answer: outcome, recordId: grant.recordId }),
    );
  }

  private prepare(kind: CallKind, memory: Memory): { held: Held; asked: Asked } {
    const remembered = this.misremembered(memory);
    return {
      held: asRemembered(remembered),
      asked: { kind, workerId: this.workerId, fence: shown(remembered) },
    };
  }
}

function activated(memory: Memory, phase: Memory['phase']) {
  return ({ status, snapshot }: ActivationResponse) => {
    memory.phase = snapshot.attemptStatus === 'starting' || status === 'applied' ? phase : memory.phase;
    if (status === 'already_terminal') memory.phase = 'over';
    return {
      answer: status,
      attemptId: snapshot.attemptId,
      leaseVersion: snapshot.leaseVersion,
      leaseGeneration: snapshot.leaseGeneration,
    };
  };
}
