import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  ArtifactService,
  AttemptService,
  AuthorityModule,
  DeliveryAuthority,
  DeliveryRecordService,
  LeaseService,
  RunService,
  SessionService,
  SweeperService,
  TaskService,
  TransactionRunner,
  WorkerService,
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
import { snapshotOf } from './snapshot.js';
import { newSessionId, registration, type TestWorker } from './worker-session.js';

/** The authority's services, each under the database role that the product gives it. */
export class World {
  readonly #modules: TestingModule[] = [];

  private constructor(
    readonly database: TestDatabase,
    private readonly settings: Partial<AuthoritySettings>,
  ) {}

  static async create(database: TestDatabase, settings: Partial<AuthoritySettings> = {}): Promise<World> {
    const world = new World(database, settings);
    for (const role of ['valise_ingress', 'valise_operator', 'valise_sweeper'] as const) {
      world.#modules.push(await world.connect(role));
    }
    return world;
  }

  /** One more process of the product under `role`. */
  async connect(role: ProcessRole, poolSize = 8): Promise<TestingModule> {
    const url = this.database.url(role);
    const module = Test.createTestingModule({
      imports: [AuthorityModule.forRoot({ url, applicationName: role, poolSize, settings: this.settings })],
    });
    return module.compile();
  }

  async close(): Promise<void> {
    for (const module of this.#modules) await module.close();
  }

  get sessions(): SessionService {
    return this.service(0, SessionService);
  }
  get leases(): LeaseService {
    return this.service(0, LeaseService);
  }
  get attempts(): AttemptService {
    return this.service(0, AttemptService);
  }
  get deliveries(): DeliveryAuthority {
    return this.service(0, DeliveryAuthority);
  }
  get artifacts(): ArtifactService {
    return this.service(0, ArtifactService);
  }
  get transactions(): TransactionRunner {
    return this.service(0, TransactionRunner);
  }
  get workers(): WorkerService {
    return this.service(1, WorkerService);
  }
  get tasks(): TaskService {
    return this.service(1, TaskService);
  }
  get runs(): RunService {
    return this.service(1, RunService);
  }
  get records(): DeliveryRecordService {
    return this.service(1, DeliveryRecordService);
  }
  get logs(): ArtifactService {
    return this.service(1, ArtifactService);
  }
  get sweeper(): SweeperService {
    return this.service(2, SweeperService);
  }

  private service<T>(index: number, type: new (...parts: never[]) => T): T {
    const module = this.#modules[index];
    if (!module) throw new Error('the world is made by create');
    return module.get<T>(type);
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
