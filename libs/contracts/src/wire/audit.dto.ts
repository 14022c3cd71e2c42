import { Identifier, ListOf, OneOf, Opaque, Optional, Text, TimeMs } from './fields.js';

export const AUDIT_ACTIONS = [
  'put_worker',
  'publish_task',
  'start_run',
  'cancel_run',
  'retry_run',
  'expire_lease',
  'request_stop',
  'count_denials',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export const AUDIT_ACTORS = ['operator', 'sweeper'] as const;
export type AuditActor = (typeof AUDIT_ACTORS)[number];

/** `{transaction}.{event}`; `0.0` is before every event. */
const CURSOR = /^(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,17})$/;
const Cursor = (): PropertyDecorator => Text({ min: 3, max: 38, pattern: CURSOR });

export class AuditPath {
  /** Where the last page ended. */
  @Cursor()
  cursor: string;
}

/** What was done to what by whom, without content. */
export class AuditEventView {
  @Cursor()
  cursor: string;

  @TimeMs()
  occurredAtMs: number;

  @OneOf(AUDIT_ACTORS)
  actorKind: AuditActor;

  @Identifier()
  actorId: string;

  @OneOf(AUDIT_ACTIONS)
  action: AuditAction;

  /** Absent where the action concerns no project. */
  @Optional()
  @Identifier()
  projectId?: string;

  /** The worker, task or run. */
  @Identifier()
  subjectId: string;

  @Opaque('Identifiers, counts and closed words.')
  facts: Record<string, unknown>;
}

/** The next events in an order that never changes; the trail's end, for now, where there are none. */
export class AuditPage {
  @ListOf(() => AuditEventView, 1000)
  events: AuditEventView[];

  /** Where to go on: every later event comes after it. */
  @Cursor()
  next: string;
}
