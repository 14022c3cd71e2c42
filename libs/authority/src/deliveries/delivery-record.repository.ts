import { Injectable } from '@nestjs/common';
import type { DeliveryRecordView } from '@valise/contracts/wire';
import type { Tx } from '../database/tx.js';

interface RecordRow {
  record_id: string;
  worker_id: string;
  session_id: string | null;
  run_id: string;
  attempt_id: string;
  decision: DeliveryRecordView['decision'];
  denial: string | null;
  lease_generation: number | null;
  secret_count: number;
  bundle_count: number;
  decided_at_ms: number;
  outcome: NonNullable<DeliveryRecordView['outcome']> | null;
  outcome_at_ms: number | null;
}

/** Reads the append-only delivery records with their outcomes. */
@Injectable()
export class DeliveryRecordRepository {
  /** The first `limit` records of a run, oldest first; null when the project has no such run. */
  async listOfRun(
    tx: Tx,
    projectId: string,
    runId: string,
    limit: number,
  ): Promise<DeliveryRecordView[] | null> {
    const rows = await tx.query<{ [Key in keyof RecordRow]: RecordRow[Key] | null }>(
      `SELECT record_id, records.worker_id, session_id, records.run_id, attempt_id, decision, denial,
              lease_generation, secret_count, bundle_count, decided_at_ms, outcome, outcome_at_ms
         FROM runs
         LEFT JOIN (delivery_records records LEFT JOIN delivery_outcomes USING (record_id, decided_at_ms))
           ON records.run_id = runs.run_id AND decided_at_ms >= runs.created_at_ms
        WHERE runs.run_id = $1 AND runs.project_id = $2
        ORDER BY decided_at_ms, record_id LIMIT $3`,
      [runId, projectId, limit],
    );
    if (rows.length === 0) return null;
    return rows.filter((row): row is RecordRow => row.record_id !== null).map(viewOf);
  }
}

function viewOf(row: RecordRow): DeliveryRecordView {
  return {
    recordId: row.record_id,
    workerId: row.worker_id,
    ...(row.session_id !== null && { sessionId: row.session_id }),
    runId: row.run_id,
    attemptId: row.attempt_id,
    decision: row.decision,
    ...(row.denial !== null && { denial: row.denial }),
    leaseGeneration: row.lease_generation ?? 0,
    secretCount: row.secret_count,
    bundleCount: row.bundle_count,
    decidedAtMs: row.decided_at_ms,
    ...(row.outcome !== null && { outcome: row.outcome }),
    ...(row.outcome_at_ms !== null && { outcomeAtMs: row.outcome_at_ms }),
  };
}
