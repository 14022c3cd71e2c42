import { randomUUID } from 'node:crypto';
import { sha256Hex } from '@valise/contracts/documents';
import type { ReasonCode } from '@valise/contracts/failure';
import type { ActivationResponse, CompletionOutcome } from '@valise/contracts/wire';
import { completion, delivery, type Held, renewal, running } from '../support/held-attempt.js';
import type { TestWorker } from '../support/worker-session.js';
import type { CallKind } from './history.js';
import type { Asked } from './recorder.js';
import { asRemembered, shown, type Memory, type Scene } from './scene.js';

type Grant = Awaited<ReturnType<Scene['stage']['deliveries']['authorize']>>;

/** An offer's id and the token that its worker chose. */
export interface ShownOffer {
  readonly offerId: string;
  readonly leaseToken: string;
}

/** What a worker says about an attempt, as it remembers it or with another version, written down with its answer. */
export class Voice {
  constructor(
    private readonly scene: Scene,
    readonly workerId: string,
  ) {}

  /** Asks for work. */
  claim(worker: TestWorker, { offerId, leaseToken }: ShownOffer) {
    return this.scene.recorder.call(
      { kind: 'claim', workerId: this.workerId, requestId: offerId },
      () =>
        this.scene.stage.leases.claim(worker, { workerGeneration: worker.generation, offerId, leaseToken }),
      ({ offer, reason }) => {
        if (!offer) return { answer: reason ?? 'idle' };
        return {
          answer: offer.deliveryKind,
          attemptId: offer.candidate.attemptId,
          leaseGeneration: offer.lease.leaseGeneration,
          leaseVersion: offer.lease.version,
        };
      },
    );
  }

  starting(memory: Memory, version?: number) {
    const { held, asked, key } = this.prepare('starting', memory, version);
    return this.scene.recorder.call(
      asked,
      () => this.scene.stage.attempts.starting(key, held.fence),
      activated(memory, 'starting'),
    );
  }

  running(memory: Memory, version?: number) {
    const { held, asked, key } = this.prepare('running', memory, version);
    return this.scene.recorder.call(
      asked,
      () => this.scene.stage.attempts.running(key, running(held)),
      activated(memory, 'running'),
    );
  }

  startFailure(memory: Memory, reasonCode: ReasonCode | undefined, version?: number) {
    const { held, asked, key } = this.prepare('start_failure', memory, version);
    return this.scene.recorder.call(
      asked,
      () => this.scene.stage.attempts.startFailure(key, { ...held.fence, ...(reasonCode && { reasonCode }) }),
      activated(memory, 'over'),
    );
  }

  complete(memory: Memory, outcome: CompletionOutcome, version?: number) {
    const { held, asked, key } = this.prepare('completion', memory, version);
    const exitCode = outcome === 'succeeded' ? 0 : 1;
    const result = { outcome, startedAtMs: 1, finishedAtMs: 2, exitCode };
    return this.scene.recorder.call(
      asked,
      () => this.scene.stage.attempts.complete(key, completion(held, { result })),
      ({ status, attemptId }) => {
        memory.phase = 'over';
        return { answer: status, attemptId };
      },
    );
  }

  renew(memory: Memory, version?: number) {
    const { held, asked, key } = this.prepare('renew', memory, version);
    return this.scene.recorder.call(
      asked,
      () => this.scene.stage.leases.renew(key, renewal(held)),
      ({ status, leaseVersion }) => {
        if (status !== 'terminal') memory.version = Math.max(memory.version, leaseVersion);
        return { answer: status, attemptId: held.fence.attemptId, leaseVersion };
      },
    );
  }

  deliver(memory: Memory, version?: number): Promise<Grant | null> {
    const { held, asked, key } = this.prepare('deliver', memory, version);
    const requestId = sha256Hex(randomUUID());
    return this.scene.recorder.call(
      { ...asked, requestId },
      () =>
        this.scene.stage.deliveries.authorize({ ...key, certificateSerial: '01' }, delivery(held), requestId),
      ({ recordId, attemptId }) => ({ answer: 'granted', recordId, attemptId }),
    );
  }

  /** What became of a delivery that was granted. */
  settle(grant: Grant, outcome: 'sent' | 'custody_failed' | 'aborted') {
    return this.scene.recorder.call(
      { kind: 'settle', workerId: this.workerId },
      () => this.scene.stage.deliveries.settle(grant, outcome),
      () => ({ answer: outcome, recordId: grant.recordId }),
    );
  }

  private prepare(
    kind: CallKind,
    memory: Memory,
    version = memory.version,
  ): { held: Held; asked: Asked; key: Held['worker'] } {
    const remembered = { ...memory, version };
    const held = asRemembered(remembered);
    return {
      held,
      asked: { kind, workerId: this.workerId, fence: shown(remembered) },
      key: { ...held.worker, workerId: this.workerId },
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
