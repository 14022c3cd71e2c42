import { IDLE_REASONS, type IdleReason } from '../failure/index.js';
import {
  Digest,
  Generation,
  Identifier,
  Integer,
  LeaseToken,
  Nested,
  OneOf,
  Opaque,
  Optional,
  Text,
  TimeMs,
  UUID_V4,
  Version,
} from './fields.js';
import { Present } from './rules.js';

export const OFFER_SCHEMA = 'qinglong/remote-execution-offer@v1';

export class OfferRequest {
  @Generation()
  workerGeneration: number;

  /** Chosen by the worker and on its disk before it is sent, so that a repeated request finds the same claim. */
  @Text({ min: 36, max: 36, pattern: UUID_V4 })
  offerId: string;

  @LeaseToken()
  leaseToken: string;
}

export class OfferCandidate {
  @Identifier()
  runId: string;

  @Identifier()
  attemptId: string;

  @Identifier()
  projectId: string;

  @Identifier()
  taskId: string;

  /** `qltd:v1:{revision}:{contentDigest}`. */
  @Identifier()
  taskRevision: string;

  @Integer(0, 1000)
  priority: number;

  @TimeMs()
  queuedAtMs: number;

  @TimeMs()
  attemptCreatedAtMs: number;

  @Generation()
  attemptNumber: number;

  @OneOf(['remote_worker'])
  executorType: 'remote_worker';
}

export class OfferWorker {
  @Identifier()
  workerId: string;

  @Identifier()
  sessionId: string;

  @Generation()
  generation: number;
}

export class OfferLease {
  @Version()
  version: number;

  @Generation()
  leaseGeneration: number;

  @TimeMs()
  acquiredAtMs: number;

  @TimeMs()
  renewedAtMs: number;

  @TimeMs()
  expiresAtMs: number;

  @TimeMs()
  updatedAtMs: number;
}

export class Offer {
  @Text({ min: 36, max: 36, pattern: UUID_V4 })
  offerId: string;

  /** `lease_recovery` answers a repeated claim; it anchors nothing: the worker renews before any other act. */
  @OneOf(['new_claim', 'lease_recovery'])
  deliveryKind: 'new_claim' | 'lease_recovery';

  @Digest()
  executionDigest: string;

  @Nested(() => OfferCandidate)
  candidate: OfferCandidate;

  @Nested(() => OfferWorker)
  worker: OfferWorker;

  @Nested(() => OfferLease)
  lease: OfferLease;

  @Opaque('An execution revision with its contentDigest (wire.md §4).')
  executionRevision: Record<string, unknown>;

  @Integer(0, 1600)
  placementScore: number;
}

const isOffered = ({ status }: OfferResponse): boolean => status === 'offered';
const isIdle = ({ status }: OfferResponse): boolean => status === 'idle';

@Present<OfferResponse>('offer', '`offer` is present exactly with status `offered`.', isOffered)
@Present<OfferResponse>('reason', '`reason` is present exactly with status `idle`.', isIdle)
@Present<OfferResponse>('retryAfterMs', '`retryAfterMs` is present exactly with status `idle`.', isIdle)
export class OfferResponse {
  @OneOf([OFFER_SCHEMA])
  schema: typeof OFFER_SCHEMA;

  @OneOf(['offered', 'idle'])
  status: 'offered' | 'idle';

  @Optional()
  @Nested(() => Offer)
  offer?: Offer;

  @Optional()
  @OneOf(IDLE_REASONS)
  reason?: IdleReason;

  @Optional()
  @Integer(0, 600000)
  retryAfterMs?: number;
}
