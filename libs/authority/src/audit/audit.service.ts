import { Injectable } from '@nestjs/common';
import type { AuditPage } from '@valise/contracts/wire';
import { MANAGEMENT } from '../database/isolation.js';
import { TransactionRunner } from '../database/transaction-runner.js';
import { auditCursor, auditView, parseAuditCursor, type AuditPosition, type AuditRecord } from './audit.js';
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

  /** The page after the cursor, or the first, and where the next one begins. @throws ValiseError invalid_request */
  async page(after: string | null): Promise<AuditPage> {
    const events = await this.list(after, MAX_EVENTS);
    return { events: events.map(auditView), next: events.at(-1)?.cursor ?? after ?? auditCursor(BEGINNING) };
  }

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
