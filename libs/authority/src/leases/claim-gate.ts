import { Injectable } from '@nestjs/common';
import { ValiseError, type FailureCode } from '@valise/contracts/failure';
import type { LeaseFence } from '@valise/contracts/wire';
import type { Execution } from '../attempts/execution.js';
import { ExecutionRepository } from '../attempts/execution.repository.js';
import type { Tx } from '../database/tx.js';
import type { WorkerSessionKey } from '../sessions/session.js';
import { ClaimRepository } from './claim.repository.js';
import { isOwnClaim, type Claimant } from './holder.js';

/** The way to an attempt's locks: whoever knows its ids, but never claimed it, cannot keep anybody waiting. */
@Injectable()
export class ClaimGate {
  constructor(
    private readonly claims: ClaimRepository,
    private readonly executions: ExecutionRepository,
  ) {}

  /**
   * Run, attempt and lease are locked for the worker that made the claim it names; the claimant is as it stands under
   * the locks. Of a stranger nothing waits, and it is not told which of the ids exist.
   * @throws ValiseError `fenced`
   */
  async lock(
    tx: Tx,
    key: WorkerSessionKey,
    fence: LeaseFence,
    fenced: FailureCode & `${string}_fenced`,
  ): Promise<{ execution: Execution; claimant: Claimant }> {
    // Claims are append-only: what is read without a lock stays true.
    const { claim } = await this.claims.readClaimant(tx, key.workerId, fence.offerId);
    const execution = isOwnClaim(key, fence, claim)
      ? await this.executions.lock(tx, fence.runId, fence.attemptId)
      : null;
    if (!execution) throw new ValiseError(fenced, { rule: 'stranger' });
    return { execution, claimant: await this.claims.readClaimant(tx, key.workerId, fence.offerId) };
  }
}
