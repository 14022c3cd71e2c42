import { Injectable } from '@nestjs/common';
import { Inbox } from '../inbox/inbox.js';
import type { ClaimedRecord } from '../inbox/inbox-record.js';
import type { Attempt } from './attempt.js';
import { AttemptService } from './attempt.service.js';
import { Undecided } from './ask-until-decided.js';
import { ConclusionService } from './conclusion.service.js';
import { unseenExit } from './exit.js';
import { Shutdown } from './shutdown.js';
import { SlotProcesses } from './slot-processes.js';

/** Brings to its end what the worker's previous life has left in a slot. Nothing is ever started a second time. */
@Injectable()
export class RecoveryService {
  constructor(
    private readonly inbox: Inbox,
    private readonly attempts: AttemptService,
    private readonly conclusion: ConclusionService,
    private readonly processes: SlotProcesses,
    private readonly shutdown: Shutdown,
  ) {}

  /**
   * The slot is empty.
   * @throws Undecided when the worker leaves before control has decided
   */
  async recover(attempt: Attempt, record: ClaimedRecord): Promise<void> {
    const { slot, lease } = attempt;
    switch (record.state) {
      case 'accepted':
      case 'starting_acknowledged':
        return this.#goOn(attempt);
      case 'start_failed':
        return this.conclusion.reportStartFailure(attempt, record.reasonCode);
      case 'start_failure_acknowledged':
      case 'completion_acknowledged':
        return this.inbox.forget(slot);
      case 'launching':
      case 'started':
      case 'running_acknowledged':
      case 'recovery_required':
      case 'exited':
        // The lease is kept while survivors are ended and the end is told; without it the truth would come too late.
        void lease.keep();
        try {
          await this.#conclude(attempt, record);
        } finally {
          lease.release();
        }
    }
  }

  /** Nothing has been started. Whether it may be now, only a renewal tells. */
  async #goOn(attempt: Attempt): Promise<void> {
    const { slot, lease, halt } = attempt;
    await lease.confirm(this.shutdown.leaving);
    if (lease.isHeld) return this.attempts.carry(attempt);
    if (this.shutdown.leaving.aborted) throw new Undecided();
    const reasonCode =
      halt.reasonCode === null || halt.reasonCode === 'lease_lost' ? 'worker_restarted' : halt.reasonCode;
    await this.inbox.advance(slot, { kind: 'start_failed', reasonCode });
    return this.conclusion.reportStartFailure(attempt, reasonCode);
  }

  async #conclude(attempt: Attempt, record: LaunchedRecord): Promise<void> {
    const { slot } = attempt;
    const leader = 'process' in record ? record.process : null;
    const { launch } = record;
    if (record.state === 'exited') {
      await this.processes.end(attempt, leader);
      return this.conclusion.complete(attempt, launch, record.exit);
    }
    let reasonCode = record.state === 'recovery_required' ? record.reasonCode : null;
    if (reasonCode === null) {
      const didStart = leader !== null || this.processes.has(attempt, leader);
      reasonCode = didStart ? 'worker_restarted' : 'launch_outcome_unknown';
      await this.inbox.advance(slot, { kind: 'recovery_required', reasonCode });
    }
    await this.processes.end(attempt, leader);
    const exit = unseenExit(reasonCode, launch);
    await this.inbox.advance(slot, { kind: 'exited', exit });
    return this.conclusion.complete(attempt, launch, exit);
  }
}

type LaunchedRecord = Extract<ClaimedRecord, { launch: unknown }>;
