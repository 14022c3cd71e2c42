import { Injectable } from '@nestjs/common';
import type { PutWorkerRequest, WorkerStatus } from '@valise/contracts/wire';
import type { Tx } from '../database/tx.js';
import type { Worker } from './worker.js';

interface WorkerRow {
  worker_id: string;
  status: WorkerStatus;
  projects: string[];
  labels: Record<string, string>;
  created_at_ms: number;
  updated_at_ms: number;
}

const WORKER = 'worker_id, status, projects, labels, created_at_ms, updated_at_ms';

/** What operators allow each worker. */
@Injectable()
export class WorkerRepository {
  async find(tx: Tx, workerId: string): Promise<Worker | null> {
    return workerOf(
      await tx.query<WorkerRow>(`SELECT ${WORKER} FROM workers WHERE worker_id = $1`, [workerId]),
    );
  }

  /** Locks the worker, so that two operators do not put it at once. */
  async lock(tx: Tx, workerId: string): Promise<Worker | null> {
    return workerOf(
      await tx.query<WorkerRow>(`SELECT ${WORKER} FROM workers WHERE worker_id = $1 FOR UPDATE`, [workerId]),
    );
  }

  /** A new worker, or null when another transaction has just made it. */
  async insert(tx: Tx, workerId: string, request: PutWorkerRequest): Promise<Worker | null> {
    return workerOf(
      await tx.query<WorkerRow>(
        `INSERT INTO workers (worker_id, status, projects, labels, created_at_ms, updated_at_ms)
         SELECT $1, $2, $3, $4::jsonb, now_ms, now_ms FROM clock_ms() AS now_ms
         ON CONFLICT (worker_id) DO NOTHING RETURNING ${WORKER}`,
        [workerId, request.status, request.projects, JSON.stringify(request.labels)],
      ),
    );
  }

  async update(tx: Tx, workerId: string, request: PutWorkerRequest): Promise<Worker | null> {
    return workerOf(
      await tx.query<WorkerRow>(
        `UPDATE workers SET status = $2, projects = $3, labels = $4::jsonb, updated_at_ms = clock_ms()
          WHERE worker_id = $1 RETURNING ${WORKER}`,
        [workerId, request.status, request.projects, JSON.stringify(request.labels)],
      ),
    );
  }

  /** The counter of the worker's denied deliveries. */
  async createDenialWindow(tx: Tx, workerId: string): Promise<void> {
    await tx.query('INSERT INTO denial_windows (worker_id) VALUES ($1)', [workerId]);
  }
}

function workerOf([row]: WorkerRow[]): Worker | null {
  if (!row) return null;
  return {
    workerId: row.worker_id,
    status: row.status,
    projects: row.projects,
    labels: row.labels,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  };
}
