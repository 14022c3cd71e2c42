import { Injectable } from '@nestjs/common';
import type { WorkerStatus } from '@valise/contracts/wire';
import type { Tx } from '../database/tx.js';
import type { Claim, Claimant } from './holder.js';

interface ClaimRow {
  offer_id: string;
  attempt_id: string;
  lease_generation: number;
  claim_worker_id: string;
  claim_session_id: string;
  claim_worker_generation: number;
  token_digest: string;
  placement_score: number;
}

type ClaimantRow = { [Key in keyof ClaimRow]: ClaimRow[Key] | null } & {
  now_ms: number;
  worker_status: WorkerStatus | null;
  session_id: string | null;
  session_generation: number | null;
};

const CLAIM = `claims.offer_id, claims.attempt_id, claims.lease_generation, claims.worker_id AS claim_worker_id,
  claims.session_id AS claim_session_id, claims.worker_generation AS claim_worker_generation, claims.token_digest,
  claims.placement_score`;

/** The append-only claims. */
@Injectable()
export class ClaimRepository {
  /** Reads the clock and what is known of the caller; after a lock is held, this is how things stand under it. */
  async readClaimant(tx: Tx, workerId: string, offerId: string): Promise<Claimant> {
    const [row] = await tx.query<ClaimantRow>(
      `SELECT clock_ms() AS now_ms, workers.status AS worker_status, sessions.session_id,
              sessions.generation AS session_generation, ${CLAIM}
         FROM (VALUES ($1::text, $2::text)) AS asked (worker_id, offer_id)
         LEFT JOIN workers ON workers.worker_id = asked.worker_id
         LEFT JOIN worker_sessions sessions ON sessions.worker_id = asked.worker_id
         LEFT JOIN lease_claims claims ON claims.offer_id = asked.offer_id`,
      [workerId, offerId],
    );
    if (!row) throw new Error('a statement without a condition returns a row');
    return {
      nowMs: row.now_ms,
      workerStatus: row.worker_status,
      sessionId: row.session_id,
      sessionGeneration: row.session_generation ?? 0,
      claim: row.offer_id === null ? null : claimOf(row as ClaimRow),
    };
  }

  /**
   * Records that the offer claimed. @throws DatabaseFault with constraint `pk_lease_claims` when it has claimed before
   */
  async append(tx: Tx, claim: Claim): Promise<void> {
    await tx.query(
      `INSERT INTO lease_claims (offer_id, attempt_id, lease_generation, worker_id, session_id, worker_generation,
                                 token_digest, placement_score, claimed_at_ms)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_ms())`,
      [
        claim.offerId,
        claim.attemptId,
        claim.leaseGeneration,
        claim.workerId,
        claim.sessionId,
        claim.workerGeneration,
        claim.tokenDigest,
        claim.placementScore,
      ],
    );
  }
}

function claimOf(row: ClaimRow): Claim {
  return {
    offerId: row.offer_id,
    attemptId: row.attempt_id,
    leaseGeneration: row.lease_generation,
    workerId: row.claim_worker_id,
    sessionId: row.claim_session_id,
    workerGeneration: row.claim_worker_generation,
    tokenDigest: row.token_digest,
    placementScore: row.placement_score,
  };
}
