import { Inject, Injectable } from '@nestjs/common';
import {
  ACTIVATION_SCHEMA,
  type ActivationResponse,
  type CompletionRequest,
  type CompletionResponse,
  type LeaseFence,
  type RunningRequest,
  type StartFailureRequest,
  type StartingRequest,
} from '@valise/contracts/wire';
import { ArtifactRepository } from '../artifacts/artifact.repository.js';
import { INGRESS } from '../database/isolation.js';
import { TransactionRunner } from '../database/transaction-runner.js';
import type { Tx } from '../database/tx.js';
import { ClaimGate } from '../leases/claim-gate.js';
import type { Claimant } from '../leases/holder.js';
import type { WorkerSessionKey } from '../sessions/session.js';
import { AUTHORITY_SETTINGS, type AuthoritySettings } from '../settings.js';
import {
  decideRunning,
  decideStartFailure,
  decideStarting,
  snapshotOf,
  type Activation,
} from './activation.js';
import { decideCompletion, isReceiptOf } from './completion.js';
import type { Execution } from './execution.js';
import { ExecutionRepository } from './execution.repository.js';
import { LateReportRepository } from './late-report.repository.js';
import { MoveRepository } from './move.repository.js';

/** What the holder of an attempt says of it: starting, running, not started after all, ended. */
@Injectable()
export class AttemptService {
  constructor(
    private readonly transactions: TransactionRunner,
    private readonly executions: ExecutionRepository,
    private readonly gate: ClaimGate,
    private readonly moves: MoveRepository,
    private readonly lateReports: LateReportRepository,
    private readonly artifacts: ArtifactRepository,
    @Inject(AUTHORITY_SETTINGS) private readonly settings: AuthoritySettings,
  ) {}

  /** The attempt is starting, and its deadline is set. @throws ValiseError worker_activation_fenced */
  starting(key: WorkerSessionKey, request: StartingRequest): Promise<ActivationResponse> {
    return this.decide(key, request, async (tx, execution, claimant) => {
      const activation = decideStarting(key, request, execution, claimant);
      if (activation === 'apply') await this.moves.start(tx, execution);
      return statusOf(activation);
    });
  }

  /** The attempt and its run are running. @throws ValiseError worker_activation_fenced, invalid_worker_request */
  running(key: WorkerSessionKey, request: RunningRequest): Promise<ActivationResponse> {
    return this.decide(key, request, async (tx, execution, claimant) => {
      const activation = decideRunning(key, request, execution, claimant);
      if (activation === 'apply') await this.moves.acknowledgeRunning(tx, execution, request);
      return statusOf(activation);
    });
  }

  /**
   * The claim is over before a process ran: the attempt has ended, or waits in the queue again. Said too late, it is
   * kept as a late report. @throws ValiseError worker_activation_fenced
   */
  startFailure(key: WorkerSessionKey, request: StartFailureRequest): Promise<ActivationResponse> {
    return this.decide(key, request, async (tx, execution, claimant) => {
      const failure = decideStartFailure(key, request, execution, claimant, this.settings.maxClaims);
      switch (failure.kind) {
        case 'repeat':
          return failure.status;
        case 'requeue':
          await this.moves.requeue(tx, execution, 'start_failure');
          return 'applied';
        case 'end':
          await this.moves.end(tx, execution, {
            status: failure.status,
            decidedBy: 'start_failure',
            reasonCode: failure.reason,
            lease: 'completed',
          });
          return 'applied';
        case 'late':
          await this.lateReports.append(tx, key, request, execution, {
            kind: 'start_failure',
            outcome: null,
            exitCode: null,
            reasonCode: request.reasonCode ?? null,
          });
          return 'already_terminal';
      }
    });
  }

  /**
   * The attempt has ended, and the lease with it, whatever became of its log: the attempt names the log only if what
   * the receipt says is stored, and none otherwise. Said too late, it is kept as a late report.
   * @throws ValiseError worker_completion_fenced, invalid_worker_request
   */
  complete(key: WorkerSessionKey, request: CompletionRequest): Promise<CompletionResponse> {
    return this.transactions.run(INGRESS, async (tx) => {
      const { execution, claimant } = await this.gate.lock(tx, key, request, 'worker_completion_fenced');
      const completion = decideCompletion(key, request, execution, claimant);
      if (completion.kind === 'end') {
        const { artifact } = request;
        const stored = await this.artifacts.find(tx, artifact.logArtifactId);
        await this.moves.complete(tx, execution, {
          status: completion.status,
          reasonCode: request.reasonCode ?? null,
          exitCode: request.result.exitCode,
          signal: request.signal ?? null,
          callbackSequence: request.callbackSequence,
          callbackTokenDigest: request.callbackTokenDigest,
          logArtifactId: isReceiptOf(artifact, stored) ? artifact.logArtifactId : null,
        });
      }
      if (completion.kind === 'late') {
        await this.lateReports.append(tx, key, request, execution, {
          kind: 'completion',
          outcome: request.result.outcome,
          exitCode: request.result.exitCode,
          reasonCode: request.reasonCode ?? null,
        });
      }
      return {
        status: COMPLETION_STATUS[completion.kind],
        runId: request.runId,
        attemptId: request.attemptId,
        callbackSequence:
          completion.kind === 'end' ? request.callbackSequence : execution.attempt.callbackSequence,
      };
    });
  }

  /** Locks, lets `act` decide and write, and answers with what is true afterwards. */
  private decide(
    key: WorkerSessionKey,
    fence: LeaseFence,
    act: (tx: Tx, execution: Execution, claimant: Claimant) => Promise<ActivationResponse['status']>,
  ): Promise<ActivationResponse> {
    return this.transactions.run(INGRESS, async (tx) => {
      const { execution, claimant } = await this.gate.lock(tx, key, fence, 'worker_activation_fenced');
      const status = await act(tx, execution, claimant);
      const after =
        status === 'applied' ? await this.executions.lock(tx, fence.runId, fence.attemptId) : execution;
      if (!after) throw new Error('an attempt that was decided about is there');
      return { schema: ACTIVATION_SCHEMA, status, snapshot: snapshotOf(after) };
    });
  }
}

const COMPLETION_STATUS = {
  end: 'applied',
  repeat: 'already_completed',
  late: 'already_terminal',
} as const;

function statusOf(activation: Activation): ActivationResponse['status'] {
  return activation === 'apply' ? 'applied' : activation;
}
