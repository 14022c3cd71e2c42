import { ValiseError } from '@valise/contracts/failure';
import { BackOff } from '../clock/back-off.js';
import { pause } from '../clock/pause.js';
import type { InboxRecord } from '../inbox/inbox-record.js';
import type { InboxEvent } from '../inbox/inbox-transition.js';
import type { Inbox } from '../inbox/inbox.js';

/**
 * What has happened already is written down, ever less often tried while the disk refuses; once one of `until` is
 * aborted it is known in memory alone, and a crash would find the slot as the disk has it.
 * @throws ValiseError internal_error when the event cannot happen in the slot's state
 */
export async function recordUntilWritten(
  inbox: Inbox,
  slot: number,
  event: InboxEvent,
  until: readonly AbortSignal[],
  onFailure: (error: unknown) => void,
): Promise<InboxRecord> {
  const backOff = new BackOff(5000);
  for (;;) {
    try {
      return await inbox.advance(slot, event);
    } catch (error) {
      if (error instanceof ValiseError) throw error;
      onFailure(error);
      if (!(await pause(backOff.next(), ...until))) return inbox.remember(slot, event);
    }
  }
}
