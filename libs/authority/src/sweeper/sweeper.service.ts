import { Inject, Injectable } from '@nestjs/common';
import { ValiseError } from '@valise/contracts/failure';
import type { AuditAction } from '@valise/contracts/wire';
import { ArtifactRepository } from '../artifacts/artifact.repository.js';
import { ExecutionRepository } from '../attempts/execution.repository.js';
import { MoveRepository } from '../attempts/move.repository.js';
import { AuditRepository } from '../audit/audit.repository.js';
import { MANAGEMENT } from '../database/isolation.js';
import { BEGINNING } from '../database/position.js';
import { TransactionRunner } from '../database/transaction-runner.js';
import type { Tx } from '../database/tx.js';
import { LeaseRepository } from '../leases/lease.repository.js';
import { RunRepository } from '../runs/run.repository.js';
import { SessionRepository } from '../sessions/session.repository.js';
import { AUTHORITY_SETTINGS, type AuthoritySettings } from '../settings.js';
import { decideExpiry, isOverdue } from './expiry.js';
import { Sweep, type SweepCounts, type SweepReport, type SweepStep } from './sweep.js';
import { SweeperRepository } from './sweeper.repository.js';

const MONTHS_AHEAD = 3;
const PARTITION_INTERVAL_MS = 3_600_000;

/** How long one run that others have is waited for, and all of a step together. */
const LOCK_WAIT_MS = 1000;
const PATIENCE_MS = 3000;

/** A run of which something is due. */
interface Due {
  readonly projectId: string;
  readonly runId: string;
}

/** Does what only the clock asks for. Any number of sweepers may run; each takes what no other has. */
@Injectable()
export class SweeperService {
  #partitionsDueAtMs = 0;
  #expiredAfter = BEGINNING;
  #overdueAfter = BEGINNING;

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

  /** One small batch of everything that is due. What fails is in the report, and keeps nothing else from being done. */
  async sweep(): Promise<SweepReport> {
    const { sweepBatch, sweepBytes, uploadLifetimeMs, artifactLifetimeMs } = this.settings;
    const batch = { rows: sweepBatch, bytes: sweepBytes };
    const sweep = new Sweep();
    await sweep.attempt('expire_leases', null, () => this.expireLeases(sweep));
    await sweep.attempt('request_stops', null, () => this.requestStops(sweep));
    await sweep.attempt('end_sessions', null, async () => {
      sweep.counts.sessionsEnded = await this.run((tx) => this.sessions.endExpired(tx, sweepBatch));
    });
    await sweep.attempt('count_denials', null, () => this.run((tx) => this.countDenials(tx)));
    await sweep.attempt('remove_uploads', null, async () => {
      sweep.counts.uploadsRemoved = await this.run((tx) =>
        this.artifacts.removeAbandoned(tx, uploadLifetimeMs, batch),
      );
    });
    await sweep.attempt('remove_artifacts', null, async () => {
      sweep.counts.artifactsRemoved = await this.run((tx) =>
        this.artifacts.removeOld(tx, artifactLifetimeMs, batch),
      );
    });
    await sweep.attempt('create_partitions', null, () => this.createPartitions());
    return sweep.report;
  }

  private async expireLeases(sweep: Sweep): Promise<void> {
    const expired = await this.run((tx) =>
      this.leases.listExpired(tx, this.#expiredAfter, this.settings.sweepBatch),
    );
    const last = expired.at(-1);
    if (last) this.#expiredAfter = { atMs: last.expiresAtMs, id: last.attemptId };
    await this.each(sweep, 'expire_leases', expired, async (tx, { runId, attemptId }) => {
      const execution = await this.executions.lock(tx, runId, attemptId);
      if (!execution) return null;
      const facts = await this.executions.readExpiryFacts(tx, runId);
      const expiry = decideExpiry(execution, facts, this.settings);
      if (expiry.kind === 'none') return null;
      if (expiry.kind === 'wait') return 'waiting';
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
      return expiry.kind === 'requeue' ? 'requeued' : 'ended';
    });
  }

  private async requestStops(sweep: Sweep): Promise<void> {
    const { timeoutGraceMs, sweepBatch } = this.settings;
    const overdue = await this.run((tx) =>
      this.runs.listOverdue(tx, timeoutGraceMs, this.#overdueAfter, sweepBatch),
    );
    const last = overdue.at(-1);
    if (last) this.#overdueAfter = { atMs: last.deadlineAtMs, id: last.runId };
    await this.each(sweep, 'request_stops', overdue, async (tx, { projectId, runId }) => {
      const execution = await this.executions.lockNewest(tx, runId);
      if (!execution) return null;
      const { nowMs } = await this.executions.readExpiryFacts(tx, runId);
      if (!isOverdue(execution, nowMs, timeoutGraceMs)) return null;
      const { attemptId } = execution.attempt;
      await this.runs.requestStop(tx, runId);
      await this.leases.fence(tx, attemptId);
      await this.record(tx, 'request_stop', projectId, runId, { attemptId, reason: 'timeout' });
      return 'stopsRequested';
    });
  }

  /**
   * Acts on each run in a transaction of its own that has locked it: first on those that nobody else has at this
   * moment, then on the others, waiting for each.
   */
  private async each<T extends Due>(
    sweep: Sweep,
    step: SweepStep,
    due: readonly T[],
    act: (tx: Tx, item: T) => Promise<keyof SweepCounts | null>,
  ): Promise<void> {
    const contended: T[] = [];
    for (const item of due) {
      const { projectId, runId } = item;
      await sweep.attempt(step, runId, async () => {
        const done = await this.run(async (tx) =>
          (await this.executions.tryLockRun(tx, projectId, runId)) ? act(tx, item) : 'contended',
        );
        if (done === 'contended') contended.push(item);
        else if (done) sweep.counts[done] += 1;
      });
    }
    const patientUntilMs = performance.now() + PATIENCE_MS;
    for (const item of contended) {
      const { projectId, runId } = item;
      await sweep.attempt(step, runId, async () => {
        const isPatient = performance.now() < patientUntilMs;
        const done = isPatient
          ? await orWaiting(
              this.run(async (tx) =>
                (await this.executions.awaitRun(tx, projectId, runId, LOCK_WAIT_MS)) ? act(tx, item) : null,
              ),
            )
          : 'waiting';
        if (done) sweep.counts[done] += 1;
      });
    }
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

const LOCK_NOT_AVAILABLE = '55P03';

async function orWaiting<T>(done: Promise<T>): Promise<T | 'waiting'> {
  try {
    return await done;
  } catch (error) {
    if (error instanceof ValiseError && error.facts.sqlState === LOCK_NOT_AVAILABLE) return 'waiting';
    throw error;
  }
}
