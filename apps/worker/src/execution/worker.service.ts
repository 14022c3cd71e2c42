import { Injectable } from '@nestjs/common';
import { pause } from '../clock/pause.js';
import { WorkerConfig } from '../config/worker-config.js';
import { Inbox } from '../inbox/inbox.js';
import { EventLog } from '../events/event-log.js';
import { LogStore } from '../logs/log-store.js';
import { SessionService } from '../sessions/session.service.js';
import { Shutdown } from './shutdown.js';
import { SlotService } from './slot.service.js';
import { SlotUids } from './slot-uids.js';

/** How long control may take to hear of what was stopped, before the next start has to tell it. */
const LAST_WORDS_MS = 5000;

/** The worker's life, from registering to leaving. */
@Injectable()
export class WorkerService {
  readonly #ended = new AbortController();

  constructor(
    private readonly config: WorkerConfig,
    private readonly inbox: Inbox,
    private readonly sessions: SessionService,
    private readonly slots: SlotService,
    private readonly uids: SlotUids,
    private readonly shutdown: Shutdown,
    private readonly log: EventLog,
    private readonly logs: LogStore,
  ) {}

  /** Resolves once the worker has drained: every attempt it held is acknowledged, or left in the inbox on purpose. */
  async run(): Promise<void> {
    const { isolation, slots } = this.config;
    // Whoever runs the worker so should know: tasks can reach it, and each other where there are several.
    if (isolation.kind === 'shared_uid') this.log.warn('tasks_share_our_uid', { slots });
    // As the first process of a container it inherits what tasks leave behind, and nobody takes their remains away.
    if (process.pid === 1) this.log.warn('orphans_are_not_collected');
    await this.logs.removeOthers(this.#launchedLogs());
    const registered = this.sessions.open(this.shutdown.draining);
    const kept = this.sessions.keep(this.#ended.signal);
    const configured = Array.from({ length: slots }, (_, slot) => slot);
    const all = new Set([...configured, ...this.inbox.occupiedSlots]);
    await Promise.all([...all].map((slot) => this.slots.run(slot)));
    await registered;
    this.#ended.abort();
    await kept;
    await this.#say('offline');
    await this.inbox.close();
    await this.uids.release();
    this.log.info('drained');
  }

  /** The first call lets what runs finish; the second stops it. */
  async drain(): Promise<void> {
    if (this.shutdown.draining.aborted) return this.#stop();
    this.shutdown.drain();
    await this.#say('draining');
  }

  async #stop(): Promise<void> {
    if (this.shutdown.stopping.aborted) return;
    this.shutdown.stop();
    await pause(this.config.stopGraceMs + LAST_WORDS_MS, this.#ended.signal);
    this.shutdown.leave();
  }

  /** A courtesy: without it control finds out when the session expires. */
  async #say(status: 'draining' | 'offline'): Promise<void> {
    try {
      await this.sessions.transition(status);
    } catch (error) {
      this.log.failure('transition_failed', error, { status });
    }
  }

  #launchedLogs(): string[] {
    const records = this.inbox.occupiedSlots.map((slot) => this.inbox.record(slot));
    return records.flatMap((record) => (record && 'launch' in record ? [record.launch.logArtifactId] : []));
  }
}
