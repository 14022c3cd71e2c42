import { Injectable } from '@nestjs/common';
import { ValiseError } from '@valise/contracts/failure';
import { BackOff } from '../clock/back-off.js';
import { pause } from '../clock/pause.js';
import { EventLog } from '../events/event-log.js';
import type { InboxRecord } from '../inbox/inbox-record.js';
import type { InboxEvent } from '../inbox/inbox-transition.js';
import { Inbox } from '../inbox/inbox.js';
import type { Attempt } from './attempt.js';
import { AttemptRefused } from './halt.js';
import { Shutdown } from './shutdown.js';

/** What the inbox knows of an attempt. */
@Injectable()
export class AttemptRecords {
  constructor(
    private readonly inbox: Inbox,
    private readonly shutdown: Shutdown,
    private readonly log: EventLog,
  ) {}

  stateOf({ slot }: Attempt): InboxRecord['state'] | undefined {
    return this.inbox.record(slot)?.state;
  }

  /**
   * Writes down what is about to be done, before it is.
   * @throws AttemptRefused when the disk does not take it; ValiseError internal_error when it cannot happen in this state
   */
  async announce({ slot, names }: Attempt, event: InboxEvent): Promise<void> {
    try {
      await this.inbox.advance(slot, event);
    } catch (error) {
      if (error instanceof ValiseError) throw error;
      this.log.failure('inbox_unwritable', error, names);
      throw new AttemptRefused('artifact_unavailable');
    }
  }

  /**
   * What has happened already is written down, ever less often tried while the disk refuses; once lease, worker or one of
   * `until` leaves no more time it is known in memory alone, and a crash would find the slot as the disk has it.
   * @throws ValiseError internal_error when the event cannot happen in this state
   */
  async keep({ slot, halt, names }: Attempt, event: InboxEvent, ...until: AbortSignal[]): Promise<void> {
    const backOff = new BackOff(5000);
    for (;;) {
      try {
        await this.inbox.advance(slot, event);
        return;
      } catch (error) {
        if (error instanceof ValiseError) throw error;
        this.log.failure('inbox_unwritable', error, names);
        if (await pause(backOff.next(), halt.urgent, this.shutdown.leaving, ...until)) continue;
        await this.inbox.remember(slot, event);
        return;
      }
    }
  }
}
