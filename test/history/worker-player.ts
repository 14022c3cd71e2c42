import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  SESSION_HEARTBEAT_SCHEMA,
  SESSION_TRANSITION_SCHEMA,
  type SessionTransitionResponse,
} from '@valise/contracts/wire';
import { newLeaseToken } from '../support/held-attempt.js';
import { newSessionId, registration, type TestWorker } from '../support/worker-session.js';
import { AttemptPlayer } from './attempt-player.js';
import { rememberClaim, type Memory, type Scene } from './scene.js';
import { Voice, type ShownOffer } from './voice.js';

const giveUp = (memory: Memory): void => {
  memory.phase = 'over';
};
const SLOTS = { maxConcurrentRuns: 6, availableSlots: 6 };

/** One hostile worker: works, repeats itself, arrives late, lives twice, and tries what it saw of others. */
export class WorkerPlayer {
  private readonly speaker: AttemptPlayer;
  private readonly voice: Voice;
  private readonly own: Memory[] = [];
  private session: { sessionId: string; generation: number; version: number } | null = null;
  private lastOffer: ShownOffer | null = null;

  constructor(
    private readonly scene: Scene,
    private readonly workerId: string,
  ) {
    this.speaker = new AttemptPlayer(scene, workerId);
    this.voice = new Voice(scene, workerId);
  }

  async play(): Promise<void> {
    while (!this.scene.over) await this.step();
  }

  private async step(): Promise<void> {
    const { random } = this.scene;
    if (!this.session) return this.register(newSessionId());
    const live = this.own.filter(({ phase }) => phase !== 'over');
    const step = random.weighted<() => Promise<void>>([
      [live.length > 0 ? 60 : 0, () => this.speakOf(random.pick(live.slice(-3)))],
      [live.length < 3 ? 14 : 2, () => this.claim(null)],
      [2, () => this.claim(this.lastOffer)],
      [4, () => this.speakOf(random.pick(this.own.slice(-6)))],
      [3, () => this.speakOf(this.scene.recentMemory())],
      [1, () => this.heartbeat()],
      [0.7, () => this.transition()],
      [1, () => this.register(this.session?.sessionId ?? newSessionId())],
      [0.4, () => this.register(newSessionId())],
      [live.length > 0 ? 2 : 0, () => this.liveTwice(random.pick(live.slice(-3)))],
    ]);
    await step();
  }

  private async speakOf(memory: Memory | undefined): Promise<void> {
    if (memory) await this.speaker.speak(memory);
  }

  /** A restarted worker registers while the one it replaces still speaks and claims. */
  private async liveTwice(memory: Memory | undefined): Promise<void> {
    await Promise.all([
      this.register(newSessionId()),
      memory && this.speaker.atOnce(memory),
      this.claim(null),
    ]);
  }

  private async register(sessionId: string): Promise<void> {
    await this.scene.recorder.call(
      { kind: 'register', workerId: this.workerId, requestId: sessionId },
      () => this.scene.stage.sessions.register({ workerId: this.workerId, sessionId }, registration(SLOTS)),
      ({ generation, version, replacedSession }) => {
        // What it held it speaks of less, but does not forget.
        if (replacedSession) this.own.filter(() => this.scene.random.chance(0.8)).forEach(giveUp);
        if (!this.session || generation >= this.session.generation) {
          this.session = { sessionId, generation, version };
        }
        return { answer: replacedSession ? 'replaced' : 'registered' };
      },
    );
  }

  private async heartbeat(): Promise<void> {
    const { session } = this;
    if (!session) return;
    await this.scene.recorder.call(
      { kind: 'heartbeat', workerId: this.workerId },
      () =>
        this.scene.stage.sessions.heartbeat(this.keyOf(session), {
          schema: SESSION_HEARTBEAT_SCHEMA,
          generation: session.generation,
          expectedVersion: session.version,
          availableSlots: SLOTS.availableSlots,
          leaseDurationMs: 30_000,
        }),
      (answer) => this.heard(answer),
    );
  }

  private async transition(): Promise<void> {
    const { session } = this;
    if (!session) return;
    await this.scene.recorder.call(
      { kind: 'transition', workerId: this.workerId },
      () =>
        this.scene.stage.sessions.transition(this.keyOf(session), {
          schema: SESSION_TRANSITION_SCHEMA,
          generation: session.generation,
          expectedVersion: session.version,
          status: this.scene.random.chance(0.5) ? 'draining' : 'offline',
        }),
      (answer) => this.heard(answer),
    );
    await this.register(session.sessionId);
  }

  private heard({ version, status }: Omit<SessionTransitionResponse, 'schema'>): { answer: string } {
    if (this.session) this.session.version = Math.max(this.session.version, version);
    return { answer: status };
  }

  /** Asks for work, with a new offer or once more with one that was used. */
  private async claim(repeated: ShownOffer | null): Promise<void> {
    const { session, scene } = this;
    if (!session) return;
    const { offerId, leaseToken } = repeated ?? { offerId: randomUUID(), leaseToken: newLeaseToken() };
    this.lastOffer = { offerId, leaseToken };
    const worker: TestWorker = { ...this.keyOf(session), generation: session.generation };
    const answer = await this.voice.claim(worker, this.lastOffer);
    const offer = answer?.offer;
    if (answer && !offer) scene.hungry += 1;
    if (offer?.deliveryKind === 'new_claim') {
      const memory = rememberClaim(worker, offer, leaseToken);
      this.own.push(memory);
      scene.memories.push(memory);
    }
    // An idle answer asks for patience, and gets some.
    if (answer && !answer.offer) await pause(scene.random.below(120));
  }

  private keyOf({ sessionId }: { sessionId: string }): { workerId: string; sessionId: string } {
    return { workerId: this.workerId, sessionId };
  }
}
