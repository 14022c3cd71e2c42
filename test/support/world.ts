import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  AuthorityModule,
  type AuthoritySettings,
  type DeliveryGrant,
  type ProcessRole,
} from '@valise/authority';
import { sha256Hex } from '@valise/contracts/documents';
import type {
  PublishTaskRequest,
  PutWorkerRequest,
  SecretDeliveryRequest,
  SessionRegisterRequest,
} from '@valise/contracts/wire';
import { delivery, fenceOf, type Held, newLeaseToken, running } from './held-attempt.js';
import type { TestDatabase } from './postgres.js';
import { OPERATOR, PROJECT, publication } from './published-task.js';
import { type Processes, Services, startProcesses } from './services.js';
import { snapshotOf } from './snapshot.js';
import { newSessionId, registration, type TestWorker } from './worker-session.js';

const POOL_SIZE = 8;

/** The authority's services over one database, and what tests do with them again and again. */
export class World extends Services {
  private constructor(
    readonly database: TestDatabase,
    private readonly settings: Partial<AuthoritySettings>,
    processes: Processes,
  ) {
    super(processes);
  }

  static async create(database: TestDatabase, settings: Partial<AuthoritySettings> = {}): Promise<World> {
    const processes = await startProcesses((role) => processOf(database, role, POOL_SIZE, settings));
    return new World(database, settings, processes);
  }

  /** One more process of the product under `role`. */
  connect(role: ProcessRole, poolSize = POOL_SIZE): Promise<TestingModule> {
    return processOf(this.database, role, poolSize, this.settings);
  }

  /** An allowed worker in an online session. */
  async worker(
    workerId = `worker-${randomUUID()}`,
    allowed: Partial<PutWorkerRequest> = {},
    report: Partial<SessionRegisterRequest> = {},
  ): Promise<TestWorker> {
    await this.workers.put(OPERATOR, workerId, {
      status: 'active',
      projects: [PROJECT],
      labels: {},
      ...allowed,
    });
    return this.register(workerId, newSessionId(), report);
  }

  async register(
    workerId: string,
    sessionId: string,
    report: Partial<SessionRegisterRequest> = {},
  ): Promise<TestWorker> {
    const key = { workerId, sessionId };
    const { generation } = await this.sessions.register(key, registration(report));
    return { ...key, generation };
  }

  /** A run of a new task that waits for a worker. */
  async queuedRun(task: Partial<PublishTaskRequest> = {}, projectId = PROJECT): Promise<string> {
    const taskId = `task-${randomUUID()}`;
    await this.tasks.publish(OPERATOR, projectId, taskId, publication(task));
    const { runId } = await this.runs.start(OPERATOR, projectId, taskId, { mutationId: randomUUID() });
    return runId;
  }

  /** Claims the one queued attempt. */
  async claim(worker: TestWorker): Promise<Held> {
    const offerId = randomUUID();
    const leaseToken = newLeaseToken();
    const { offer } = await this.leases.claim(worker, {
      workerGeneration: worker.generation,
      offerId,
      leaseToken,
    });
    if (!offer) throw new Error('nothing was queued for this worker');
    return { worker, offer, fence: fenceOf(worker, offer, leaseToken) };
  }

  /** A worker that holds an attempt in the given state. */
  async held(
    state: 'claimed' | 'starting' | 'running' = 'claimed',
    task: Partial<PublishTaskRequest> = {},
    worker?: TestWorker,
  ): Promise<Held> {
    await this.queuedRun(task);
    const held = await this.claim(worker ?? (await this.worker()));
    if (state !== 'claimed') await this.attempts.starting(held.worker, held.fence);
    if (state === 'running') await this.attempts.running(held.worker, running(held));
    return held;
  }

  authorize(held: Held, change: Partial<SecretDeliveryRequest> = {}): Promise<DeliveryGrant> {
    const request = delivery(held, change);
    const caller = { ...held.worker, certificateSerial: '01' };
    return this.deliveries.authorize(caller, request, sha256Hex(JSON.stringify(request)));
  }

  /** The lease has run out, as if its time had passed. */
  async expireLease(held: Held): Promise<void> {
    await this.database.query('UPDATE leases SET expires_at_ms = clock_ms() - 1 WHERE attempt_id = $1', [
      held.fence.attemptId,
    ]);
  }

  async leaseOf(held: Held): Promise<Record<string, unknown>> {
    return this.row('SELECT * FROM leases WHERE attempt_id = $1', held.fence.attemptId);
  }

  async attemptOf(held: Held): Promise<Record<string, unknown>> {
    return this.row('SELECT * FROM attempts WHERE attempt_id = $1', held.fence.attemptId);
  }

  async runOf(held: Held): Promise<Record<string, unknown>> {
    return this.row('SELECT * FROM runs WHERE run_id = $1', held.fence.runId);
  }

  snapshot(): Promise<Record<string, unknown>> {
    return snapshotOf(this.database);
  }

  private async row(statement: string, id: string): Promise<Record<string, unknown>> {
    const [row] = await this.database.query<Record<string, unknown>>(statement, [id]);
    if (!row) throw new Error('the row is there');
    return Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        name.endsWith('_ms') && value !== null ? Number(value) : value,
      ]),
    );
  }
}

function processOf(
  database: TestDatabase,
  role: ProcessRole,
  poolSize: number,
  settings: Partial<AuthoritySettings>,
): Promise<TestingModule> {
  const pool = { url: database.url(role), applicationName: role, poolSize };
  return Test.createTestingModule({ imports: [AuthorityModule.forRoot({ ...pool, settings })] }).compile();
}

/** Gives the suite a world over its database. */
export function useWorld(
  database: () => TestDatabase,
  settings: Partial<AuthoritySettings> = {},
): () => World {
  let world: World | undefined;
  beforeAll(async () => {
    world = await World.create(database(), settings);
  }, 60_000);
  afterAll(() => world?.close());
  return () => {
    if (!world) throw new Error('the world exists while tests run');
    return world;
  };
}
