import {
  Generation,
  Identifier,
  LeaseToken,
  Nested,
  OneOf,
  Optional,
  Text,
  TimeMs,
  UUID_V4,
  Version,
} from './fields.js';
import { Present } from './rules.js';

export const LEASE_CONTROL_SCHEMA = 'qinglong/remote-worker-lease-control@v1';

/** wire.md §6 "fence fields": what a holder proves its lease with. */
export class LeaseFence {
  @Identifier()
  runId: string;

  @Identifier()
  attemptId: string;

  @Generation()
  workerGeneration: number;

  @Text({ min: 36, max: 36, pattern: UUID_V4 })
  offerId: string;

  @Generation()
  leaseGeneration: number;

  @LeaseToken()
  leaseToken: string;

  @Version()
  expectedLeaseVersion: number;
}

export class LeaseControlRequest extends LeaseFence {
  @OneOf([LEASE_CONTROL_SCHEMA])
  schema: typeof LEASE_CONTROL_SCHEMA;

  @Identifier()
  projectId: string;
}

export const STOP_REASONS = ['user', 'policy', 'shutdown', 'reconcile', 'timeout'] as const;
export type StopReason = (typeof STOP_REASONS)[number];

export class StopRequest {
  @OneOf(STOP_REASONS)
  reason: StopReason;
}

@Present<LeaseControlResponse>(
  'stop',
  '`stop` is present exactly with status `stop_requested`.',
  ({ status }) => status === 'stop_requested',
)
export class LeaseControlResponse {
  @OneOf(['renewed', 'stop_requested', 'terminal'])
  status: 'renewed' | 'stop_requested' | 'terminal';

  @Version()
  leaseVersion: number;

  @TimeMs()
  expiresAtMs: number;

  @Optional()
  @Nested(() => StopRequest)
  stop?: StopRequest;
}
