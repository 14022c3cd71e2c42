import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { createTaskRevisionRef } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import type {
  CancelRunRequest,
  RetryRunRequest,
  RunMutationResponse,
  RunView,
  StartRunRequest,
} from '@valise/contracts/wire';
import type { Execution } from '../attempts/execution.js';
import { ExecutionRepository } from '../attempts/execution.repository.js';
import { MoveRepository } from '../attempts/move.repository.js';
import type { Operator } from '../audit/audit.js';
import { AuditRepository } from '../audit/audit.repository.js';
import { assertReplays, mutationDigest, type Mutation, type MutationKind } from '../audit/mutation.js';
import { MutationRepository } from '../audit/mutation.repository.js';
import { MANAGEMENT } from '../database/isolation.js';
import { TransactionRunner } from '../database/transaction-runner.js';
import type { Tx } from '../database/tx.js';
import { LeaseRepository } from '../leases/lease.repository.js';
import { TaskRepository } from '../tasks/task.repository.js';
import { assertRetryable, decideCancellation } from './run.js';
import { RunRepository } from './run.repository.js';

/** What operators do with runs. Each mutation happens once, however often it is sent. */
@Injectable()
export class RunService {
  constructor(
    private readonly transactions: TransactionRunner,
    private readonly runs: RunRepository,
    private readonly tasks: TaskRepository,
    private readonly executions: ExecutionRepository,
    private readonly moves: MoveRepository,
    private readonly leases: LeaseRepository,
    private readonly mutations: MutationRepository,
    private readonly audit: AuditRepository,
  ) {}

  /** The task's current revision waits for a worker. @throws ValiseError not_found, task_disabled, mutation_conflict */
  start(
    operator: Operator,
    projectId: string,
    taskId: string,
    request: StartRunRequest,
  ): Promise<RunMutationResponse> {
    const { mutationId, priority = 0 } = request;
    const runId = randomUUID();
    const asked = mutationOf('start_run', projectId, mutationId, runId, [taskId, priority]);
    return this.mutate(operator, asked, async (tx) => {
      const task = await this.tasks.findHead(tx, projectId, taskId);
      if (!task) throw new ValiseError('not_found', { subject: 'task' });
      if (task.executionDigest === null) throw new ValiseError('task_disabled');
      const { revision, contentDigest } = task;
      const taskRevision = createTaskRevisionRef(revision, contentDigest);
      const attemptId = randomUUID();
      await this.runs.insert(tx, { runId, attemptId, projectId, taskId, revision, taskRevision, priority });
    });
  }

  /** @throws ValiseError not_found */
  get(projectId: string, runId: string): Promise<RunView> {
    return this.transactions.run(MANAGEMENT, (tx) => this.view(tx, projectId, runId));
  }

  /** The run is cancelled, or its worker is asked to stop; one that has ended stays so. @throws ValiseError not_found */
  cancel(
    operator: Operator,
    projectId: string,
    runId: string,
    request: CancelRunRequest,
  ): Promise<RunMutationResponse> {
    const asked = mutationOf('cancel_run', projectId, request.mutationId, runId, []);
    return this.mutate(operator, asked, async (tx) => {
      const execution = await this.lockNewest(tx, projectId, runId);
      const cancellation = decideCancellation(execution);
      if (cancellation === 'end') {
        await this.moves.end(tx, execution, {
          status: 'cancelled',
          decidedBy: 'operator',
          reasonCode: 'stopped_by_operator',
          lease: 'released',
        });
      }
      if (cancellation === 'request') {
        await this.runs.requestCancellation(tx, runId);
        await this.leases.fence(tx, execution.attempt.attemptId);
      }
    });
  }

  /** The run waits for a worker again, in its next attempt. @throws ValiseError not_found, run_not_retryable, run_may_still_run */
  retry(
    operator: Operator,
    projectId: string,
    runId: string,
    request: RetryRunRequest,
  ): Promise<RunMutationResponse> {
    const { mutationId, previousMayStillRun = false } = request;
    const asked = mutationOf('retry_run', projectId, mutationId, runId, [previousMayStillRun]);
    return this.mutate(operator, asked, async (tx) => {
      assertRetryable(await this.lockNewest(tx, projectId, runId), request);
      await this.runs.appendAttempt(tx, runId, randomUUID());
    });
  }

  /** Applies a mutation with its audit row, or finds that it was applied. @throws ValiseError mutation_conflict */
  private mutate(
    operator: Operator,
    asked: Mutation,
    apply: (tx: Tx) => Promise<void>,
  ): Promise<RunMutationResponse> {
    const { projectId, mutationId, kind } = asked;
    return this.transactions.run(MANAGEMENT, async (tx) => {
      if (!(await this.mutations.append(tx, asked))) {
        const applied = await this.mutations.find(tx, projectId, mutationId);
        if (!applied) throw new Error('a mutation is never removed');
        assertReplays(applied, asked);
        return { ...(await this.view(tx, projectId, applied.subjectId)), outcome: 'replayed' };
      }
      await apply(tx);
      await this.audit.append(tx, {
        actorKind: 'operator',
        actorId: operator.operatorId,
        action: kind,
        projectId,
        subjectId: asked.subjectId,
        facts: { mutationId },
      });
      return { ...(await this.view(tx, projectId, asked.subjectId)), outcome: 'applied' };
    });
  }

  private async lockNewest(tx: Tx, projectId: string, runId: string): Promise<Execution> {
    const found = await this.executions.lockRun(tx, projectId, runId);
    const execution = found ? await this.executions.lockNewest(tx, runId) : null;
    if (!execution) throw new ValiseError('not_found', { subject: 'run' });
    return execution;
  }

  private async view(
    tx: Tx,
    projectId: string,
    runId: string,
  ): Promise<Omit<RunMutationResponse, 'outcome'>> {
    const run = await this.runs.findView(tx, projectId, runId);
    if (!run) throw new ValiseError('not_found', { subject: 'run' });
    return { ...run, attempts: await this.runs.listAttempts(tx, runId) };
  }
}

/** A start makes a new run id each time it is sent, so the run is part of the content of the other two only. */
function mutationOf(
  kind: Exclude<MutationKind, 'publish_task'>,
  projectId: string,
  mutationId: string,
  runId: string,
  content: readonly (string | number | boolean)[],
): Mutation {
  const subject = kind === 'start_run' ? [] : [runId];
  const contentDigest = mutationDigest(kind, ...subject, ...content);
  return { projectId, mutationId, kind, contentDigest, subjectId: runId, result: null };
}
