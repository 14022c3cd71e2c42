import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { ReasonCode } from '@valise/contracts/failure';
import type { CompletionOutcome, LeaseFence } from '@valise/contracts/wire';
import type { Tx } from '../database/tx.js';
import type { WorkerSessionKey } from '../sessions/session.js';
import type { Execution } from './execution.js';

/** What a worker said of a claim after its attempt was already decided. */
export interface LateReport {
  readonly kind: 'start_failure' | 'completion';
  readonly outcome: CompletionOutcome | null;
  readonly exitCode: number | null;
  readonly reasonCode: ReasonCode | null;
}

/** The append-only late reports. */
@Injectable()
export class LateReportRepository {
  /** Keeps the first report of its kind about a claim; what a worker repeats is known already. */
  async append(
    tx: Tx,
    key: WorkerSessionKey,
    fence: LeaseFence,
    { run, attempt }: Execution,
    report: LateReport,
  ): Promise<void> {
    await tx.query(
      `INSERT INTO late_reports (report_id, reported_at_ms, kind, worker_id, run_id, attempt_id, lease_generation,
                                 attempt_status, outcome, exit_code, reason_code)
       SELECT $1, clock_ms(), $2, $3, $4, $5, $6, $7, $8, $9, $10
        WHERE NOT EXISTS (SELECT FROM late_reports
                           WHERE attempt_id = $5 AND lease_generation = $6 AND kind = $2)`,
      [
        randomUUID(),
        report.kind,
        key.workerId,
        run.runId,
        attempt.attemptId,
        fence.leaseGeneration,
        attempt.status,
        report.outcome,
        report.exitCode,
        report.reasonCode,
      ],
    );
  }
}
