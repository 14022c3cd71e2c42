import 'reflect-metadata';
import { randomBytes, randomUUID } from 'node:crypto';
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
  type WorkerSessionKey,
} from '@valise/authority';
import {
  createSecretReference,
  logArtifactId,
  sha256Hex,
  writeCapabilities,
} from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import {
  ARTIFACT_UPLOAD_SCHEMA,
  COMPLETION_SCHEMA,
  LEASE_CONTROL_SCHEMA,
  SECRET_DELIVERY_SCHEMA,
  SESSION_REGISTER_SCHEMA,
  type ArtifactUploadHeader,
  type CompletionRequest,
  type LeaseControlRequest,
  type LeaseFence,
  type Offer,
  type PublishTaskRequest,
  type PutWorkerRequest,
  type RunningRequest,
  type SecretDeliveryRequest,
  type SessionRegisterRequest,
} from '@valise/contracts/wire';
import type { TestDatabase } from './postgres.js';

export const PROJECT = 'project-1';
export const OPERATOR = { operatorId: 'operator-1' };
export const SECRET = createSecretReference({ projectId: PROJECT, name: 'token' });
export const BUNDLE = createSecretReference({ projectId: PROJECT, name: 'env', version: 1 });

const CAPABILITIES = writeCapabilities({
  architecture: 'amd64',
  executors: ['remote-worker'],
  protocolVersion: '1.0.0',
  supportTier: 'tier1',
});

/** A worker with its session, as a test plays it. */
export interface TestWorker extends WorkerSessionKey {
  readonly generation: number;
}

/** The fields of a DTO class, to be copied. */
type Fields<Dto> = { [Key in keyof Dto]: Dto[Key] };

/** A claimed attempt, as its worker knows it. */
export interface Held {
  readonly worker: TestWorker;
  readonly offer: Offer;
  readonly fence: Fields<LeaseFence>;
}

/** The authority's services, each under the database role that the product gives it. */
export class World {
  readonly #modules: TestingModule[] = [];
  #lastSessionAtMs = 0;

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

  /** A UUIDv7 larger than every one before. */
  nextSessionId(): string {
    this.#lastSessionAtMs = Math.max(Date.now(), this.#lastSessionAtMs + 1);
    const time = this.#lastSessionAtMs.toString(16).padStart(12, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${randomBytes(6).toString('hex')}`;
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
    return this.register(workerId, this.nextSessionId(), report);
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

  /** Every row of every table but the denial counters: equal before and after means that nothing was written. */
  async snapshot(): Promise<Record<string, unknown>> {
    const [row] = await this.database.query<{ everything: Record<string, unknown> }>(`
      SELECT jsonb_build_object(
        'workers', (SELECT jsonb_agg(t ORDER BY worker_id) FROM workers t),
        'worker_sessions', (SELECT jsonb_agg(t ORDER BY worker_id) FROM worker_sessions t),
        'tasks', (SELECT jsonb_agg(t ORDER BY project_id, task_id) FROM tasks t),
        'definitions', (SELECT count(*) FROM task_definition_revisions),
        'executions', (SELECT count(*) FROM task_execution_revisions),
        'mutations', (SELECT count(*) FROM mutations),
        'runs', (SELECT jsonb_agg(t ORDER BY run_id) FROM runs t),
        'attempts', (SELECT jsonb_agg(t ORDER BY attempt_id) FROM attempts t),
        'leases', (SELECT jsonb_agg(t ORDER BY attempt_id) FROM leases t),
        'claims', (SELECT count(*) FROM lease_claims),
        'records', (SELECT count(*) FROM delivery_records),
        'outcomes', (SELECT count(*) FROM delivery_outcomes),
        'late_reports', (SELECT count(*) FROM late_reports),
        'audit', (SELECT count(*) FROM audit_events),
        'artifacts', (SELECT count(*) FROM artifacts),
        'uploads', (SELECT count(*) FROM artifact_uploads)) AS everything`);
    return row?.everything ?? {};
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

/** The code of the refusal, and the proof that it left the world as it was. */
export async function refusal(world: World, act: () => Promise<unknown>): Promise<string> {
  const before = await world.snapshot();
  const code = await codeOf(act());
  expect(await world.snapshot()).toEqual(before);
  return code;
}

/** The code that `outcome` is refused with. */
export async function codeOf(outcome: Promise<unknown>): Promise<string> {
  try {
    await outcome;
  } catch (error) {
    if (error instanceof ValiseError) return error.code;
    throw error;
  }
  return 'no refusal';
}

export const newLeaseToken = (): string => randomBytes(32).toString('base64url');

export function registration(report: Partial<SessionRegisterRequest> = {}): Fields<SessionRegisterRequest> {
  return {
    schema: SESSION_REGISTER_SCHEMA,
    capabilitiesJson: CAPABILITIES,
    capabilitiesHash: sha256Hex(CAPABILITIES),
    maxConcurrentRuns: 64,
    availableSlots: 64,
    leaseDurationMs: 30_000,
    ...report,
  };
}

/** A shell command with one secret and a bundle. */
export function publication(task: Partial<PublishTaskRequest> = {}): Fields<PublishTaskRequest> {
  return {
    expectedRevision: null,
    mutationId: randomUUID(),
    name: 'Task',
    kind: 'command',
    spec: {
      schema: 'qinglong/command@v1',
      config: {
        command: { kind: 'argv', file: '/bin/true', args: [] },
        environment: [{ name: 'TOKEN', kind: 'secret', secretRef: SECRET }],
        environmentBundleRef: BUNDLE,
      },
    },
    labels: {},
    enabled: true,
    ...task,
  };
}

/** A command that asks for no secret. */
export function plainSpec(config: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    schema: 'qinglong/command@v1',
    config: { command: { kind: 'argv', file: '/bin/true', args: [] }, environment: [], ...config },
  };
}

export function fenceOf(worker: TestWorker, offer: Offer, leaseToken: string): Fields<LeaseFence> {
  return {
    runId: offer.candidate.runId,
    attemptId: offer.candidate.attemptId,
    workerGeneration: worker.generation,
    offerId: offer.offerId,
    leaseGeneration: offer.lease.leaseGeneration,
    leaseToken,
    expectedLeaseVersion: offer.lease.version,
  };
}

export function renewal({ fence, offer }: Held): Fields<LeaseControlRequest> {
  return { ...fence, schema: LEASE_CONTROL_SCHEMA, projectId: offer.candidate.projectId };
}

const callbackTokenDigest = sha256Hex('callback token');

export function running(held: Held): Fields<RunningRequest> {
  return {
    ...held.fence,
    executorHandle: 'slot 0 pid 42',
    logArtifactId: artifactOf(held),
    callbackSequence: 1,
    callbackTokenDigest,
  };
}

export function completion(held: Held, change: Partial<CompletionRequest> = {}): Fields<CompletionRequest> {
  return {
    ...held.fence,
    schema: COMPLETION_SCHEMA,
    callbackSequence: 2,
    callbackTokenDigest,
    result: { outcome: 'succeeded', startedAtMs: 1, finishedAtMs: 2, exitCode: 0 },
    artifact: { logArtifactId: artifactOf(held), byteLength: 0, sha256: sha256Hex(''), truncated: false },
    ...change,
  };
}

export function artifactOf({ fence, offer }: Held): string {
  const { runId, attemptId, offerId } = fence;
  return logArtifactId({ projectId: offer.candidate.projectId, runId, attemptId, offerId });
}

export function upload(held: Held, byteLength: number): Fields<ArtifactUploadHeader> {
  return {
    ...held.fence,
    schema: ARTIFACT_UPLOAD_SCHEMA,
    logArtifactId: artifactOf(held),
    byteLength,
    truncated: false,
  };
}

export function delivery(
  { fence, offer }: Held,
  change: Partial<SecretDeliveryRequest> = {},
): Fields<SecretDeliveryRequest> {
  return {
    ...fence,
    schema: SECRET_DELIVERY_SCHEMA,
    projectId: offer.candidate.projectId,
    taskId: offer.candidate.taskId,
    taskRevision: offer.candidate.taskRevision,
    executionDigest: offer.executionDigest,
    secretRefs: [SECRET],
    environmentBundleRefs: [BUNDLE],
    ...change,
  };
}
