import { ValiseError, type ReasonCode } from '@valise/contracts/failure';
import type { Offer } from '@valise/contracts/wire';
import type { Message } from '../ingress/message.js';
import type { Exit, InboxRecord, InboxState, Launch, ProcessIdentity, RecordIn } from './inbox-record.js';

/** What happened to the attempt of a slot. */
export type InboxEvent =
  | { readonly kind: 'offered'; readonly offer: Message<Offer> }
  | { readonly kind: 'starting_acknowledged' }
  | { readonly kind: 'launching'; readonly launch: Launch }
  | { readonly kind: 'started'; readonly process: ProcessIdentity }
  | { readonly kind: 'running_acknowledged' }
  | { readonly kind: 'exited'; readonly exit: Exit }
  | { readonly kind: 'completion_acknowledged' }
  /** The command certainly never ran: a refusal before launch, or an exec that failed. */
  | { readonly kind: 'start_failed'; readonly reasonCode: ReasonCode | null }
  | { readonly kind: 'start_failure_acknowledged' }
  /** A worker before this one launched it and did not see its end. */
  | { readonly kind: 'recovery_required'; readonly reasonCode: ReasonCode };

/**
 * The record after `event`.
 * @throws ValiseError internal_error when the event cannot happen in the record's state
 */
export function advance(record: InboxRecord, event: InboxEvent): InboxRecord {
  const next = successor(record, event);
  if (next === null) throw new ValiseError('internal_error', { state: record.state, event: event.kind });
  return next;
}

function successor(record: InboxRecord, event: InboxEvent): InboxRecord | null {
  switch (event.kind) {
    case 'offered':
      return record.state === 'claiming'
        ? { state: 'accepted', claim: record.claim, offer: event.offer }
        : null;
    case 'starting_acknowledged':
      return record.state === 'accepted' ? { ...record, state: 'starting_acknowledged' } : null;
    case 'launching':
      return record.state === 'starting_acknowledged'
        ? { ...record, state: 'launching', launch: event.launch }
        : null;
    case 'started':
      return record.state === 'launching' ? { ...record, state: 'started', process: event.process } : null;
    case 'running_acknowledged':
      // The process may have ended before control's answer arrived.
      if (record.state === 'exited') return record;
      return record.state === 'started' ? { ...record, state: 'running_acknowledged' } : null;
    case 'exited':
      return exited(record, event.exit);
    case 'completion_acknowledged':
      return record.state === 'exited' ? { ...record, state: 'completion_acknowledged' } : null;
    case 'start_failed':
      return startFailed(record, event.reasonCode);
    case 'start_failure_acknowledged':
      return record.state === 'start_failed' ? { ...record, state: 'start_failure_acknowledged' } : null;
    case 'recovery_required':
      return recoveryRequired(record, event.reasonCode);
  }
}

function exited(record: InboxRecord, exit: Exit): InboxRecord | null {
  if (!isIn(record, 'started', 'running_acknowledged', 'recovery_required')) return null;
  const { claim, offer, launch } = record;
  return { state: 'exited', claim, offer, launch, exit };
}

function startFailed(record: InboxRecord, reasonCode: ReasonCode | null): InboxRecord | null {
  if (!isIn(record, 'accepted', 'starting_acknowledged', 'launching', 'started')) return null;
  const { claim, offer } = record;
  return { state: 'start_failed', claim, offer, reasonCode };
}

function recoveryRequired(record: InboxRecord, reasonCode: ReasonCode): InboxRecord | null {
  if (!isIn(record, 'launching', 'started', 'running_acknowledged')) return null;
  const { claim, offer, launch } = record;
  return { state: 'recovery_required', claim, offer, launch, reasonCode };
}

function isIn<S extends InboxState>(record: InboxRecord, ...states: S[]): record is RecordIn<S> {
  return states.some((state) => state === record.state);
}
