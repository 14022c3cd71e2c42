/** The caller of a management mutation, as its certificate names it. */
export interface Operator {
  readonly operatorId: string;
}

export type AuditAction =
  | 'put_worker'
  | 'publish_task'
  | 'start_run'
  | 'cancel_run'
  | 'retry_run'
  | 'expire_lease'
  | 'request_stop'
  | 'count_denials';

/** What was done to what by whom, without content: identifiers, counts and closed words. */
export interface AuditEvent {
  readonly actorKind: 'operator' | 'sweeper';
  readonly actorId: string;
  readonly action: AuditAction;
  readonly projectId: string | null;
  readonly subjectId: string;
  readonly facts: Readonly<Record<string, string | number | boolean>>;
}
