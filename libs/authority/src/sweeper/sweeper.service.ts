import { Inject, Injectable } from '@nestjs/common';
import { ArtifactRepository } from '../artifacts/artifact.repository.js';
import { ExecutionRepository } from '../attempts/execution.repository.js';
import { MoveRepository } from '../attempts/move.repository.js';
import type { AuditAction } from '../audit/audit.js';
import { AuditRepository } from '../audit/audit.repository.js';
import { MANAGEMENT } from '../database/isolation.js';
import { TransactionRunner, type Tx } from '../database/transaction-runner.js';
import { LeaseRepository } from '../leases/lease.repository.js';
import { RunRepository } from '../runs/run.repository.js';
import { SessionRepository } from '../sessions/session.repository.js';
import { AUTHORITY_SETTINGS, type AuthoritySettings } from '../settings.js';
import { decideExpiry, isOverdue, type Expiry } from './expiry.js';
import { SweeperRepository } from './sweeper.repository.js';

const MONTHS_AHEAD = 3;
const PARTITION_INTERVAL_MS = 3_600_000;

/** What one sweep did. */
export interface SweepReport {
  readonly requeued: number;
  readonly ended: number;
  /** Expired leases that wait for a delivery on its way, or for another transaction. */
  readonly waiting: number;
  readonly stopsRequested: number;
  readonly sessionsEnded: number;
  readonly uploadsRemoved: number;
}

/** Does what only the clock asks for. Any number of sweepers may run; each takes what no other has. */
@Injectable()
export class SweeperService {
  #partitionsDueAtMs = 0;

  constructor(
    private readonly transactions: TransactionRunner,
    private readonly leases: LeaseRepository,
    private readonly runs: RunRepository,
    private readonly sessions: SessionRepository,
    private readonly executions: ExecutionRepository,
    private readonly moves: MoveRepository,
    private readonly artifacts: ArtifactRepository,
    private readonly sweeper: SweeperRepository,
    private readonly audit: AuditRepository,
    @Inject(AUTHORITY_SETTINGS) private readonly settings: AuthoritySettings,
  ) {}

  /** One small batch of everything that is due. @throws ValiseError management_unavailable */
  async sweep(): Promise<SweepReport> {
    const { sweepBatch, uploadLifetimeMs } = this.settings;
    const counts = { requeue: 0, end: 0, wait: 0, none: 0 };
    for (const { runId, attemptId } of await this.run((tx) => this.leases.listExpired(tx, sweepBatch))) {
      counts[await this.run((tx) => this.expire(tx, runId, attemptId))] += 1;
    }
    const stopsRequested = await this.stopOverdue();
    const sessionsEnded = await this.run((tx) => this.sessions.endExpired(tx, sweepBatch));
    await this.run((tx) => this.countDenials(tx));
    const uploadsRemoved = await this.run((tx) =>
      this.artifacts.removeAbandoned(tx, uploadLifetimeMs, sweepBatch),
    );
    await this.createPartitions();
    return {
      requeued: counts.requeue,
      ended: counts.end,
      waiting: counts.wait,
      stopsRequested,
      sessionsEnded,
      uploadsRemoved,
    };
  }

  private async expire(tx: Tx, runId: string, attemptId: string): Promise<Expiry['kind']> {
    const execution = await this.executions.tryLock(tx, runId, attemptId);
    if (!execution) return 'wait';
    const facts = await this.executions.readExpiryFacts(tx, runId);
    const expiry = decideExpiry(execution, facts, this.settings);
    if (expiry.kind === 'none' || expiry.kind === 'wait') return expiry.kind;
    if (expiry.kind === 'requeue') await this.moves.requeue(tx, execution, 'sweeper');
    else {
      await this.moves.end(tx, execution, {
        status: expiry.status,
        decidedBy: 'sweeper',
        reasonCode: expiry.reason,
        lease: 'released',
      });
    }
    const status = expiry.kind === 'requeue' ? 'queued' : expiry.status;
    await this.record(tx, 'expire_lease', execution.run.projectId, runId, { attemptId, status });
    return expiry.kind;
  }

  private async stopOverdue(): Promise<number> {
    const { timeoutGraceMs, sweepBatch } = this.settings;
    const overdue = await this.run((tx) => this.runs.listOverdue(tx, timeoutGraceMs, sweepBatch));
    let stopped = 0;
    for (const { projectId, runId } of overdue) {
      stopped += await this.run(async (tx) => {
        const locked = await this.executions.tryLockRun(tx, projectId, runId);
        const execution = locked ? await this.executions.lockNewest(tx, runId) : null;
        if (!execution) return 0;
        const { nowMs } = await this.executions.readExpiryFacts(tx, runId);
        if (!isOverdue(execution, nowMs, timeoutGraceMs)) return 0;
        const { attemptId } = execution.attempt;
        await this.runs.requestStop(tx, runId);
        await this.leases.fence(tx, attemptId);
        await this.record(tx, 'request_stop', projectId, runId, { attemptId, reason: 'timeout' });
        return 1;
      });
    }
    return stopped;
  }

  private async countDenials(tx: Tx): Promise<void> {
    for (const { workerId, denials } of await this.sweeper.takeUnrecordedDenials(
      tx,
      this.settings.sweepBatch,
    )) {
      await this.record(tx, 'count_denials', null, workerId, { denials });
    }
  }

  private async createPartitions(): Promise<void> {
    if (performance.now() < this.#partitionsDueAtMs) return;
    await this.run((tx) => this.sweeper.createPartitions(tx, MONTHS_AHEAD));
    this.#partitionsDueAtMs = performance.now() + PARTITION_INTERVAL_MS;
  }

  private record(
    tx: Tx,
    action: AuditAction,
    projectId: string | null,
    subjectId: string,
    facts: Readonly<Record<string, string | number>>,
  ): Promise<void> {
    return this.audit.append(tx, {
      actorKind: 'sweeper',
      actorId: 'sweeper',
      action,
      projectId,
      subjectId,
      facts,
    });
  }

  private run<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.transactions.run(MANAGEMENT, work);
  }
}
