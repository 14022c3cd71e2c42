import { Injectable } from '@nestjs/common';
import type { Tx } from '../database/tx.js';

/** What only the sweeper does, beside the nouns' own statements. */
@Injectable()
export class SweeperRepository {
  /** Takes up to `limit` counts of denials that were not recorded one by one, and sets them to nothing. */
  async takeUnrecordedDenials(tx: Tx, limit: number): Promise<{ workerId: string; denials: number }[]> {
    const rows = await tx.query<{ worker_id: string; unrecorded: number }>(
      `WITH counted AS MATERIALIZED (
         SELECT worker_id, unrecorded FROM denial_windows
          WHERE unrecorded > 0 AND started_at_ms <= clock_ms() - 60000
          LIMIT $1 FOR UPDATE SKIP LOCKED)
       UPDATE denial_windows SET unrecorded = 0 FROM counted
        WHERE denial_windows.worker_id = counted.worker_id
       RETURNING counted.worker_id, counted.unrecorded`,
      [limit],
    );
    return rows.map((row) => ({ workerId: row.worker_id, denials: row.unrecorded }));
  }

  /** The months from now to `monthsAhead` exist; returns how many tables were missing. */
  async createPartitions(tx: Tx, monthsAhead: number): Promise<number> {
    const rows = await tx.query<{ created: number }>('SELECT create_partitions(0, $1) AS created', [
      monthsAhead,
    ]);
    return rows[0]?.created ?? 0;
  }
}
