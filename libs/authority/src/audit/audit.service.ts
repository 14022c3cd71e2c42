import { Injectable } from '@nestjs/common';
import { MANAGEMENT } from '../database/isolation.js';
import { TransactionRunner } from '../database/transaction-runner.js';
import { parseAuditCursor, type AuditPosition, type AuditRecord } from './audit.js';
import { AuditRepository } from './audit.repository.js';

const MAX_EVENTS = 1000;
const BEGINNING: AuditPosition = { transactionId: '0', eventId: '0' };

/** The trail of what operators and the sweeper did, to be read to its end and followed from there. */
@Injectable()
export class AuditService {
  constructor(
    private readonly transactions: TransactionRunner,
    private readonly audit: AuditRepository,
  ) {}

  /**
   * Up to `limit` (a thousand at most) events after the cursor, or from the beginning. Whoever goes on from the last
   * event's cursor sees each event once, in an order that never changes, however many writers are active; an event
   * appears once no older transaction is open any more. @throws ValiseError invalid_request for a cursor of no event
   */
  list(after: string | null, limit: number): Promise<AuditRecord[]> {
    const position = after === null ? BEGINNING : parseAuditCursor(after);
    return this.transactions.run(MANAGEMENT, (tx) =>
      this.audit.list(tx, position, Math.min(Math.max(1, limit), MAX_EVENTS)),
    );
  }
}
