import { setTimeout as pause } from 'node:timers/promises';
import type { ReasonCode } from '@valise/contracts/failure';
import type { Memory, Scene } from './scene.js';
import { Voice } from './voice.js';

const OUTCOMES = ['succeeded', 'failed', 'cancelled', 'timed_out'] as const;
const REASONS: readonly (ReasonCode | undefined)[] = [
  undefined,
  'secret_unavailable',
  'worker_restarted',
  'worker_shutdown',
  'lease_lost',
];

/** Whoever speaks about an attempt: its holder, its former holder, or a worker with somebody else's memory. */
export class AttemptPlayer {
  private readonly voice: Voice;

  constructor(
    private readonly scene: Scene,
    workerId: string,
  ) {
    this.voice = new Voice(scene, workerId);
  }

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
  private versionOf({ version }: Memory): number {
    const { random } = this.scene;
    return random.chance(0.15) ? Math.max(0, version + random.below(4) - 2) : version;
  }

  private async starting(memory: Memory): Promise<void> {
    const answer = await this.voice.starting(memory, this.versionOf(memory));
    if (!answer && this.scene.random.chance(0.7)) memory.phase = 'over';
  }

  private async running(memory: Memory): Promise<void> {
    await this.voice.running(memory, this.versionOf(memory));
  }

  private async startFailure(memory: Memory): Promise<void> {
    await this.voice.startFailure(memory, this.scene.random.pick(REASONS), this.versionOf(memory));
  }

  private async complete(memory: Memory): Promise<void> {
    const outcome = this.scene.random.pick(OUTCOMES) ?? 'failed';
    await this.voice.complete(memory, outcome, this.versionOf(memory));
  }

  private async renew(memory: Memory): Promise<void> {
    const answer = await this.voice.renew(memory, this.versionOf(memory));
    if (!answer && this.scene.random.chance(0.7)) memory.phase = 'over';
    // Told to stop, it asks all the same.
    if (answer?.status === 'stop_requested' && this.scene.random.chance(0.8)) await this.deliver(memory);
  }

  private async deliver(memory: Memory): Promise<void> {
    const grant = await this.voice.deliver(memory, this.versionOf(memory));
    // A worker that is fenced renews and asks again.
    if (!grant && memory.phase !== 'over' && this.scene.random.chance(0.6)) return this.renew(memory);
    // Some controls die before they can say what became of it.
    if (!grant || this.scene.random.chance(0.2)) return;
    const outcome = this.scene.random.weighted([
      [6, 'sent'],
      [2, 'custody_failed'],
      [1, 'aborted'],
    ] as const);
    await this.voice.settle(grant, outcome);
  }
}
