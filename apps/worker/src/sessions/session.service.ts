import { Inject, Injectable } from '@nestjs/common';
import { sha256Hex } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import {
  SESSION_HEARTBEAT_SCHEMA,
  SESSION_REGISTER_SCHEMA,
  SESSION_TRANSITION_SCHEMA,
} from '@valise/contracts/wire';
import { BackOff } from '../clock/back-off.js';
import { jittered, pause } from '../clock/pause.js';
import { WorkerConfig } from '../config/worker-config.js';
import { Control } from '../ingress/control.js';
import type { Session } from '../ingress/ingress-path.js';
import { isRefusal } from '../ingress/refusal.js';
import { WORKER_IDENTITY, type WorkerIdentity } from '../ingress/worker-identity.js';
import { Inbox } from '../inbox/inbox.js';
import { EventLog } from '../events/event-log.js';
import { capabilitiesJson } from './capabilities.js';
import { nextSessionId } from './session-id.js';

interface Registered {
  readonly generation: number;
  readonly version: number;
}

/** The worker's current life as control knows it. */
@Injectable()
export class SessionService {
  readonly #capabilities = capabilitiesJson();
  #registered: Registered | null = null;
  #registering: Promise<void> | null = null;
  #busySlots = 0;

  constructor(
    private readonly config: WorkerConfig,
    @Inject(WORKER_IDENTITY) private readonly identity: WorkerIdentity,
    private readonly inbox: Inbox,
    private readonly control: Control,
    private readonly log: EventLog,
  ) {}

  /** The worker is registered, under the session it had before it restarted where control still takes that one. */
  async open(until: AbortSignal): Promise<void> {
    const backOff = new BackOff();
    while (!this.#registered && !until.aborted) {
      try {
        await this.#register();
      } catch (error) {
        this.log.failure('register_failed', error);
        await pause(backOff.next(error), until);
      }
    }
  }

  /** Sends a sign of life at every third of the session's duration. */
  async keep(until: AbortSignal): Promise<void> {
    while (await pause(jittered(this.config.leaseDurationMs / 3), until)) {
      try {
        await this.#heartbeat();
      } catch (error) {
        this.log.failure('heartbeat_failed', error);
      }
    }
  }

  /** Asks within the current session; when there is none, or control has fenced it, registers first. */
  async within<T>(ask: (session: Session, generation: number) => Promise<T>): Promise<T> {
    const { session, generation } = await this.#current();
    try {
      return await ask(session, generation);
    } catch (error) {
      if (!isRefusal(error, 'worker_session_fenced')) throw error;
      await this.#register();
      const now = await this.#current();
      return ask(now.session, now.generation);
    }
  }

  /** Control is told that nothing more will be claimed, or that the worker is gone. */
  async transition(status: 'draining' | 'offline'): Promise<void> {
    const { version } = await this.within((session, generation) =>
      this.control.transition(session, {
        schema: SESSION_TRANSITION_SCHEMA,
        generation,
        expectedVersion: this.#registered?.version ?? 0,
        status,
      }),
    );
    this.#keepVersion(version);
  }

  occupy(): void {
    this.#busySlots += 1;
  }

  vacate(): void {
    this.#busySlots -= 1;
  }

  async #current(): Promise<{ session: Session; generation: number }> {
    if (!this.#registered) await this.#register();
    const { inbox } = this;
    if (!this.#registered || !inbox.session) throw new ValiseError('internal_error', { rule: 'registered' });
    return { session: inbox.session, generation: this.#registered.generation };
  }

  async #heartbeat(): Promise<void> {
    const { version } = await this.within((session, generation) =>
      this.control.heartbeat(session, {
        schema: SESSION_HEARTBEAT_SCHEMA,
        generation,
        expectedVersion: this.#registered?.version ?? 0,
        availableSlots: this.#availableSlots(),
        leaseDurationMs: this.config.leaseDurationMs,
      }),
    );
    this.#keepVersion(version);
  }

  /** Several callers may hear of the fence at once; they share one registration. */
  #register(): Promise<void> {
    this.#registering ??= this.#registerSameOrNext().finally(() => {
      this.#registering = null;
    });
    return this.#registering;
  }

  /** The same id first: only when control has ended that session, a new one, on the disk before it is sent. */
  async #registerSameOrNext(): Promise<void> {
    const known = this.inbox.session;
    if (known) {
      try {
        await this.#registerAs(known.sessionId);
        return;
      } catch (error) {
        if (!isRefusal(error, 'worker_session_fenced')) throw error;
      }
    }
    const sessionId = nextSessionId(known?.sessionId ?? null, Date.now());
    await this.inbox.saveSession({ workerId: this.identity.workerId, sessionId });
    await this.#registerAs(sessionId);
  }

  async #registerAs(sessionId: string): Promise<void> {
    const { workerId } = this.identity;
    const { generation, version, replacedSession } = await this.control.register(
      { workerId, sessionId },
      {
        schema: SESSION_REGISTER_SCHEMA,
        capabilitiesJson: this.#capabilities,
        capabilitiesHash: sha256Hex(this.#capabilities),
        maxConcurrentRuns: this.config.slots,
        availableSlots: this.#availableSlots(),
        leaseDurationMs: this.config.leaseDurationMs,
      },
    );
    this.#registered = { generation, version };
    this.log.info('registered', { workerId, sessionId, generation, replacedSession });
  }

  #availableSlots(): number {
    return Math.max(0, this.config.slots - this.#busySlots);
  }

  #keepVersion(version: number): void {
    if (this.#registered && version > this.#registered.version) {
      this.#registered = { ...this.#registered, version };
    }
  }
}
