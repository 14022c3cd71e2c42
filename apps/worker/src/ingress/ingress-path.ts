/** Whose session the question is asked in; the certificate says the same. */
export interface Session {
  readonly workerId: string;
  readonly sessionId: string;
}

/** What control is asked; wire.md §6. */
export type Operation =
  | 'register'
  | 'heartbeat'
  | 'transition'
  | 'offers'
  | 'starting'
  | 'start-failure'
  | 'running'
  | 'secrets'
  | 'lease-control'
  | 'artifacts'
  | 'completion';

export function pathOf({ workerId, sessionId }: Session, operation: Operation): string {
  return `/api/v3/worker-ingress/workers/${workerId}/sessions/${sessionId}/${operation}`;
}
