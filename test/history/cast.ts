import { randomUUID } from 'node:crypto';
import { SESSION_TRANSITION_SCHEMA } from '@valise/contracts/wire';
import { newLeaseToken } from '../support/held-attempt.js';
import { OPERATOR, PROJECT } from '../support/published-task.js';
import { newSessionId, registration, type TestWorker } from '../support/worker-session.js';
import { OperatorPlayer } from './operator-player.js';
import { rememberClaim, type Memory, type Scene } from './scene.js';
import { TimePlayer } from './time-player.js';
import { Voice, type ShownOffer } from './voice.js';

export type Phase = 'queued' | 'claimed' | 'starting' | 'running';

/** One worker and one run of which it may hold the attempt; whatever they do is written down. */
export class Cast {
  private readonly operator: OperatorPlayer;
  private readonly time: TimePlayer;
  private readonly voice: Voice;
  private readonly offer: ShownOffer = { offerId: randomUUID(), leaseToken: newLeaseToken() };
  private worker: TestWorker;
  private memory: Memory | null = null;

  private constructor(
    private readonly scene: Scene,
    worker: TestWorker,
    readonly runId: string,
    readonly attemptId: string,
  ) {
    this.operator = new OperatorPlayer(scene);
    this.time = new TimePlayer(scene);
    this.voice = new Voice(scene, worker.workerId);
    this.worker = worker;
  }

  /** A new worker, and a new run whose attempt has come that far in its hands. */
  static async of(phase: Phase, scene: Scene): Promise<Cast> {
    const { runs } = scene.stage;
    const worker = await appear(scene);
    const { runId, attempts } = await runs.start(OPERATOR, PROJECT, scene.taskIds[1] ?? '', {
      mutationId: randomUUID(),
    });
    const cast = new Cast(scene, worker, runId, attempts[0]?.attemptId ?? '');
    if (phase === 'queued') return cast;
    await cast.claim();
    if (phase === 'claimed') return cast;
    await cast.starting();
    if (phase === 'running') await cast.running();
    return cast;
  }

  /** The same offer again, once it has claimed. */
  async claim(): Promise<void> {
    const { worker } = this;
    const answer = await this.voice.claim(worker, this.offer);
    if (answer?.offer?.deliveryKind !== 'new_claim') return;
    this.memory = rememberClaim(worker, answer.offer, this.offer.leaseToken);
  }

  async claimByAnother(): Promise<void> {
    const worker = await appear(this.scene);
    const offer = { offerId: randomUUID(), leaseToken: newLeaseToken() };
    await new Voice(this.scene, worker.workerId).claim(worker, offer);
  }

  async starting(): Promise<void> {
    if (this.memory) await this.voice.starting(this.memory);
  }

  async running(): Promise<void> {
    if (this.memory) await this.voice.running(this.memory);
  }

  async deliver(): Promise<void> {
    if (this.memory) await this.voice.deliver(this.memory);
  }

  async renew(): Promise<void> {
    if (this.memory) await this.voice.renew(this.memory);
  }

  async complete(): Promise<void> {
    if (this.memory) await this.voice.complete(this.memory, 'succeeded');
  }

  async failToStart(): Promise<void> {
    if (this.memory) await this.voice.startFailure(this.memory, 'secret_unavailable');
  }

  async giveBack(): Promise<void> {
    if (this.memory) await this.voice.startFailure(this.memory, 'worker_restarted');
  }

  async replaceSession(): Promise<void> {
    const { workerId } = this.worker;
    const sessionId = newSessionId();
    await this.scene.recorder.call(
      { kind: 'register', workerId, requestId: sessionId },
      () => this.scene.stage.sessions.register({ workerId, sessionId }, registration()),
      ({ replacedSession }) => ({ answer: replacedSession ? 'replaced' : 'registered' }),
    );
  }

  async drain(): Promise<void> {
    const { generation, workerId } = this.worker;
    await this.scene.recorder.call(
      { kind: 'transition', workerId },
      () =>
        this.scene.stage.sessions.transition(this.worker, {
          schema: SESSION_TRANSITION_SCHEMA,
          generation,
          expectedVersion: 0,
          status: 'draining',
        }),
      ({ status }) => ({ answer: status }),
    );
  }

  cancel(): Promise<void> {
    return this.operator.changeRun('cancel_run', this.runId);
  }

  revoke(): Promise<void> {
    return this.operator.put(this.worker.workerId, { status: 'revoked', projects: [PROJECT], labels: {} });
  }

  takeProject(): Promise<void> {
    return this.operator.put(this.worker.workerId, { status: 'active', projects: ['other'], labels: {} });
  }

  /** The lease has run out. */
  expire(): Promise<void> {
    return this.scene.expireLease(this.attemptId);
  }

  async sweepExpired(): Promise<void> {
    await this.expire();
    await this.time.sweepOnce();
  }

  async sweepOverdue(): Promise<void> {
    await this.time.passDeadline(this.runId);
    await this.time.sweepOnce();
  }

  /** The worker asks once more, with what it now knows; then nobody is to take the run up again. */
  async leave(): Promise<void> {
    await this.renew();
    await this.deliver();
    await this.cancel();
  }
}

async function appear(scene: Scene): Promise<TestWorker> {
  const sessionId = newSessionId();
  const workerId = `worker-${randomUUID()}`;
  await scene.stage.workers.put(OPERATOR, workerId, { status: 'active', projects: [PROJECT], labels: {} });
  const { generation } = await scene.stage.sessions.register({ workerId, sessionId }, registration());
  return { workerId, sessionId, generation };
}
