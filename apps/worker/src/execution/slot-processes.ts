import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { WorkerConfig } from '../config/worker-config.js';
import type { ProcessIdentity } from '../inbox/inbox-record.js';
import { EventLog } from '../events/event-log.js';
import type { Attempt } from './attempt.js';
import { endProcesses } from './end-processes.js';
import { findProcesses, type ProcessOwner } from './process-table.js';
import { killerUidOf, SlotKiller } from './slot-killer.js';

/** What lives in the worker's slots. */
@Injectable()
export class SlotProcesses implements OnModuleDestroy {
  readonly #killer: SlotKiller | null;
  /** Slots in which nothing lives for certain: everything of their uid was ended, and we have started nothing since. */
  readonly #empty = new Set<number>();

  constructor(
    private readonly config: WorkerConfig,
    private readonly log: EventLog,
  ) {
    const { isolation } = config;
    // Until it works, no slot is found empty, and the attempts in them neither start nor end.
    const onFailure = (): void => {
      log.warn('slot_killer_failed');
    };
    this.#killer =
      isolation.kind === 'uid_per_slot'
        ? new SlotKiller(killerUidOf(isolation.baseUid), undefined, onFailure)
        : null;
  }

  /**
   * Nothing of the attempt lives any more. TERM, grace, KILL; a lost lease leaves no more grace than half the margin
   * before control's expiry, and none past it.
   */
  async end(attempt: Attempt, leader: ProcessIdentity | null): Promise<boolean> {
    const { halt, lease, names } = attempt;
    const graceMs = halt.urgent.aborted
      ? Math.min(lease.marginMs / 2, lease.isOursForMs, this.config.stopGraceMs)
      : this.config.stopGraceMs;
    const urgent = halt.urgent.aborted ? NEVER : halt.urgent;
    const found = await endProcesses(this.#ownerOf(attempt, leader), this.#killer, graceMs, urgent);
    if (found) this.log.debug('processes_ended', names);
    this.#empty.add(attempt.slot);
    return found;
  }

  /** Nothing that came before lives in the attempt's slot, where slots have a uid each; it has no grace. */
  async clear(attempt: Attempt): Promise<void> {
    const owner = this.#ownerOf(attempt, null);
    // One look is enough where we know what it will see.
    const isEmpty = this.#empty.delete(attempt.slot) && findProcesses(owner).length === 0;
    const found = !isEmpty && (await endProcesses(owner, this.#killer, 0, NEVER));
    if (found) this.log.info('slot_cleared', attempt.names);
  }

  /** Whether anything of the attempt lives. */
  has(attempt: Attempt, leader: ProcessIdentity | null): boolean {
    return findProcesses(this.#ownerOf(attempt, leader)).length > 0;
  }

  onModuleDestroy(): void {
    this.#killer?.close();
  }

  #ownerOf({ slot, offer }: Attempt, leader: ProcessIdentity | null): ProcessOwner {
    const { isolation } = this.config;
    return isolation.kind === 'uid_per_slot'
      ? { kind: 'uid', uid: isolation.baseUid + slot, leader }
      : { kind: 'attempt', uid: isolation.uid, attemptId: offer.candidate.attemptId, leader };
  }
}

const NEVER = new AbortController().signal;
