import { Injectable } from '@nestjs/common';
import { ValiseError } from '@valise/contracts/failure';
import type { PutWorkerRequest, WorkerView } from '@valise/contracts/wire';
import { AuditRepository } from '../audit/audit.repository.js';
import type { Operator } from '../audit/audit.js';
import { MANAGEMENT } from '../database/isolation.js';
import { TransactionRunner } from '../database/transaction-runner.js';
import type { Tx } from '../database/tx.js';
import { LeaseRepository } from '../leases/lease.repository.js';
import { SessionRepository } from '../sessions/session.repository.js';
import { assertWorkerRequest, isRevoked, keptProjects, workerView, type Worker } from './worker.js';
import { WorkerRepository } from './worker.repository.js';

/** The registry of workers, which operators own. */
@Injectable()
export class WorkerService {
  constructor(
    private readonly transactions: TransactionRunner,
    private readonly workers: WorkerRepository,
    private readonly sessions: SessionRepository,
    private readonly leases: LeaseRepository,
    private readonly audit: AuditRepository,
  ) {}

  /**
   * The worker is as the request says. Leases it may not hold any more are expired, in the same transaction; a revoked
   * worker has no session either. @throws ValiseError invalid_request
   */
  put(operator: Operator, workerId: string, request: PutWorkerRequest): Promise<WorkerView> {
    assertWorkerRequest(request);
    return this.transactions.run(MANAGEMENT, async (tx) => {
      const worker = await this.write(tx, workerId, request);
      await this.sessions.lock(tx, workerId);
      if (isRevoked(worker.status)) await this.sessions.end(tx, workerId);
      const kept = keptProjects(worker);
      const expired = kept ? await this.leases.expireOfWorker(tx, workerId, kept) : 0;
      await this.audit.append(tx, {
        actorKind: 'operator',
        actorId: operator.operatorId,
        action: 'put_worker',
        projectId: null,
        subjectId: workerId,
        facts: { status: worker.status, projects: worker.projects.length, expiredLeases: expired },
      });
      return workerView(worker);
    });
  }

  /** @throws ValiseError not_found */
  get(workerId: string): Promise<WorkerView> {
    return this.transactions.run(MANAGEMENT, async (tx) => {
      const worker = await this.workers.find(tx, workerId);
      if (!worker) throw new ValiseError('not_found', { subject: 'worker' });
      return workerView(worker);
    });
  }

  private async write(tx: Tx, workerId: string, request: PutWorkerRequest): Promise<Worker> {
    const inserted = await this.workers.insert(tx, workerId, request);
    if (inserted) {
      await this.sessions.create(tx, workerId);
      await this.workers.createDenialWindow(tx, workerId);
      return inserted;
    }
    await this.workers.lock(tx, workerId);
    const updated = await this.workers.update(tx, workerId, request);
    if (!updated) throw new Error('a worker is never removed');
    return updated;
  }
}
