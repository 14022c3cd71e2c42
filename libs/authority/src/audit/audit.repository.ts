import { Injectable } from '@nestjs/common';
import type { Tx } from '../database/tx.js';
import { auditCursor, type AuditEvent, type AuditPosition, type AuditRecord } from './audit.js';

interface AuditRow {
  event_id: string;
  transaction_id: string;
  occurred_at_ms: number;
  actor_kind: AuditEvent['actorKind'];
  actor_id: string;
  action: AuditEvent['action'];
  project_id: string | null;
  subject_id: string;
  facts: AuditEvent['facts'];
}

/** The append-only trail of what operators and the sweeper did. */
@Injectable()
export class AuditRepository {
  /** The event stands or falls with the transaction that it tells of. */
  async append(tx: Tx, event: AuditEvent): Promise<void> {
    await tx.query(
      `INSERT INTO audit_events (occurred_at_ms, actor_kind, actor_id, action, project_id, subject_id, facts)
       VALUES (clock_ms(), $1, $2, $3, $4, $5, $6::jsonb)`,
      [
        event.actorKind,
        event.actorId,
        event.action,
        event.projectId,
        event.subjectId,
        JSON.stringify(event.facts),
      ],
    );
  }

  /**
   * The next `limit` events after a position. Events of transactions that are as old as one still open are left for
   * later: that one may yet commit events that belong before them.
   */
  async list(tx: Tx, after: AuditPosition, limit: number): Promise<AuditRecord[]> {
    const rows = await tx.query<AuditRow>(
      `SELECT event_id::text, transaction_id::text, occurred_at_ms, actor_kind, actor_id, action, project_id,
              subject_id, facts
         FROM audit_events
        WHERE (transaction_id, event_id) > ($1::xid8, $2::bigint)
          AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
        ORDER BY audit_events.transaction_id, audit_events.event_id LIMIT $3`,
      [after.transactionId, after.eventId, limit],
    );
    return rows.map((row) => ({
      cursor: auditCursor({ transactionId: row.transaction_id, eventId: row.event_id }),
      occurredAtMs: row.occurred_at_ms,
      actorKind: row.actor_kind,
      actorId: row.actor_id,
      action: row.action,
      projectId: row.project_id,
      subjectId: row.subject_id,
      facts: row.facts,
    }));
  }
}
