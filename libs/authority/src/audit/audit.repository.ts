import { Injectable } from '@nestjs/common';
import type { Tx } from '../database/transaction-runner.js';
import type { AuditEvent } from './audit.js';

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
}
