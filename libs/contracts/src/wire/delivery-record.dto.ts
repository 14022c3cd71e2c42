import { Identifier, Integer, ListOf, OneOf, Optional, Text, TimeMs, Version } from './fields.js';

export const DELIVERY_DECISIONS = ['authorised', 'denied'] as const;
export const DELIVERY_OUTCOMES = ['sent', 'custody_failed', 'aborted'] as const;

/** One content-free delivery record: who, which attempt, how much, what became of it. */
export class DeliveryRecordView {
  @Identifier()
  recordId: string;

  @Identifier()
  workerId: string;

  /** Absent when the caller's session was not one that the authority knows. */
  @Optional()
  @Identifier()
  sessionId?: string;

  @Identifier()
  runId: string;

  @Identifier()
  attemptId: string;

  @OneOf(DELIVERY_DECISIONS)
  decision: (typeof DELIVERY_DECISIONS)[number];

  /** Why it was denied; told to operators, never to workers. */
  @Optional()
  @Text({ max: 64, pattern: /^[a-z_]+$/ })
  denial?: string;

  @Version()
  leaseGeneration: number;

  @Integer(0, 64)
  secretCount: number;

  @Integer(0, 1)
  bundleCount: number;

  @TimeMs()
  decidedAtMs: number;

  @Optional()
  @OneOf(DELIVERY_OUTCOMES)
  outcome?: (typeof DELIVERY_OUTCOMES)[number];

  @Optional()
  @TimeMs()
  outcomeAtMs?: number;
}

export class DeliveryRecordList {
  @ListOf(() => DeliveryRecordView, 1000)
  deliveries: DeliveryRecordView[];
}
