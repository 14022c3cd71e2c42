import { readExecutionRevision, type ExecutionRevision } from '@valise/contracts/documents';
import type { Offer } from '@valise/contracts/wire';
import type { ClaimedRecord } from '../inbox/inbox-record.js';
import type { Message } from '../ingress/message.js';
import { Halt } from './halt.js';
import { Lease, type LeaseSurroundings } from './lease.js';

/** One claimed attempt in the worker's hands. */
export class Attempt {
  readonly offer: Message<Offer>;
  readonly revision: ExecutionRevision;
  readonly halt = new Halt();
  readonly lease: Lease;

  constructor(
    readonly slot: number,
    record: ClaimedRecord,
    leaseDurationMs: number,
    surroundings: LeaseSurroundings,
  ) {
    this.offer = record.offer;
    this.revision = readExecutionRevision(record.offer.executionRevision);
    this.lease = new Lease(record, leaseDurationMs, this.halt, surroundings);
  }

  /** What a log line says of it. */
  get names(): { runId: string; attemptId: string; slot: number } {
    const { runId, attemptId } = this.offer.candidate;
    return { runId, attemptId, slot: this.slot };
  }
}
