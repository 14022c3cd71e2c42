import { OneOf, Opaque, Text, Texts, TimeMs, WORKER_ID } from './fields.js';

export const WORKER_STATUSES = ['active', 'draining', 'revoked'] as const;
export type WorkerStatus = (typeof WORKER_STATUSES)[number];

/** `PUT /api/v3/workers/{w}`: the whole row, as it shall be. */
export class PutWorkerRequest {
  @OneOf(WORKER_STATUSES)
  status: WorkerStatus;

  /** The projects the worker may serve; `["*"]` for all. */
  @Texts({ max: 128, maxItems: 256 })
  projects: string[];

  /** Operator labels, matched by placements beside what the worker says of itself. */
  @Opaque('Label keys and values.')
  labels: Record<string, string>;
}

export class WorkerView {
  @Text({ max: 128, pattern: WORKER_ID })
  workerId: string;

  @OneOf(WORKER_STATUSES)
  status: WorkerStatus;

  @Texts({ max: 128, maxItems: 256 })
  projects: string[];

  @Opaque('Label keys and values.')
  labels: Record<string, string>;

  @TimeMs()
  createdAtMs: number;

  @TimeMs()
  updatedAtMs: number;
}
