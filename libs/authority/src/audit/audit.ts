import { ValiseError } from '@valise/contracts/failure';
import type { AuditAction, AuditActor, AuditEventView } from '@valise/contracts/wire';

/** The caller of a management mutation, as its certificate names it. */
export interface Operator {
  readonly operatorId: string;
}

/** What was done to what by whom, without content: identifiers, counts and closed words. */
export interface AuditEvent {
  readonly actorKind: AuditActor;
  readonly actorId: string;
  readonly action: AuditAction;
  readonly projectId: string | null;
  readonly subjectId: string;
  readonly facts: Readonly<Record<string, string | number | boolean>>;
}

/** An event as it is kept. */
export interface AuditRecord extends AuditEvent {
  readonly occurredAtMs: number;
  /** Where a reader that has read this event goes on. */
  readonly cursor: string;
}

/** The place of an event among all: by transaction, then within it. */
export interface AuditPosition {
  readonly transactionId: string;
  readonly eventId: string;
}

const CURSOR = /^(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,17})$/;

export const auditCursor = ({ transactionId, eventId }: AuditPosition): string =>
  `${transactionId}.${eventId}`;

/** @throws ValiseError invalid_request for a text that is no cursor */
export function parseAuditCursor(text: string): AuditPosition {
  const [, transactionId, eventId] = CURSOR.exec(text) ?? [];
  if (transactionId === undefined || eventId === undefined) {
    throw new ValiseError('invalid_request', { field: 'after', rule: 'cursor' });
  }
  return { transactionId, eventId };
}

export function auditView({ projectId, facts, ...event }: AuditRecord): AuditEventView {
  return { ...event, ...(projectId !== null && { projectId }), facts: { ...facts } };
}
