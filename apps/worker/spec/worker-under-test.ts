import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Test, type TestingModule } from '@nestjs/testing';
import type { ExecutionRevision } from '@valise/contracts/documents';
import { WorkerConfig } from '../src/config/worker-config.js';
import { WorkerService } from '../src/execution/worker.service.js';
import { IngressClient } from '../src/ingress/ingress-client.js';
import { EventLog } from '../src/events/event-log.js';
import { WorkerModule } from '../src/worker.module.js';
import { until } from '../../../test/support/until.js';
import { FakeControl, type Question } from './fake-control.js';
import { TestAuthority } from '../../../test/support/test-authority.js';
import { issueControl, issueWorker } from './credentials.js';

export const IS_ROOT = process.getuid?.() === 0;

/** Uids that no other process of jest uses: a thousand of its own. */
export const TEST_BASE_UID = 1_000_000 + (process.pid % 1000) * 1000;

type Settings = Partial<{ -readonly [Name in keyof WorkerConfig]: WorkerConfig[Name] }>;

/** A worker with a state directory of its own, and the control it talks to. */
export class WorkerUnderTest {
  readonly log: string[] = [];
  #running: { module: TestingModule; ended: Promise<void> } | null = null;

  private constructor(
    readonly control: FakeControl,
    readonly directory: string,
    private readonly authority: TestAuthority,
    private readonly settings: Settings,
  ) {}

  static async create(settings: Settings = {}): Promise<WorkerUnderTest> {
    const authority = await TestAuthority.create();
    const server = await issueControl(authority);
    const directory = await mkdtemp(join(tmpdir(), 'valise-worker-'));
    await writeFile(join(directory, 'ca.pem'), authority.pem);
    const control = await FakeControl.start(server, authority.pem);
    const worker = new WorkerUnderTest(control, directory, authority, settings);
    await worker.rename('worker-1');
    return worker;
  }

  /** The worker's next start is under a certificate of this name. */
  async rename(workerId: string): Promise<void> {
    const { certificate, key } = await issueWorker(this.authority, workerId);
    await writeFile(join(this.directory, 'worker.pem'), certificate);
    await writeFile(join(this.directory, 'worker.key'), key, { mode: 0o600 });
  }

  get stateDirectory(): string {
    return join(this.directory, 'state');
  }

  async start(): Promise<void> {
    const uid = process.getuid?.() ?? -1;
    const config = new WorkerConfig({
      controlUrl: this.control.url,
      certificateFile: join(this.directory, 'worker.pem'),
      keyFile: join(this.directory, 'worker.key'),
      authorityFile: join(this.directory, 'ca.pem'),
      stateDirectory: this.stateDirectory,
      slots: 1,
      leaseDurationMs: 5000,
      isolation: IS_ROOT ? { kind: 'uid_per_slot', baseUid: TEST_BASE_UID } : { kind: 'shared_uid', uid },
      baseEnvironment: new Map([
        ['PATH', '/usr/bin:/bin'],
        ['HOME', '/nonexistent'],
        ['LANG', 'C.UTF-8'],
      ]),
      allowedNames: new Set(),
      logLimits: { maxBytes: 1024 * 1024, reserveBytes: 0 },
      logLevel: 'trace',
      stopGraceMs: 300,
      ...this.settings,
    });
    const module = await Test.createTestingModule({ imports: [WorkerModule] })
      .overrideProvider(WorkerConfig)
      .useValue(config)
      .overrideProvider(EventLog)
      .useValue(new EventLog('trace', { write: (line) => void this.log.push(line) }))
      .compile();
    this.#running = { module, ended: module.get(WorkerService).run() };
  }

  /** Starts, runs one plan, and answers the operation with which that ends. */
  async endOf(revision: ExecutionRevision, operation: string): Promise<Question> {
    this.control.queue.push(revision);
    await this.start();
    return this.control.heard(operation);
  }

  /** Drains once, or twice for a stop; resolves when the worker has left. */
  async stop(times = 1): Promise<void> {
    if (!this.#running) return;
    const { module, ended } = this.#running;
    this.#running = null;
    for (let time = 0; time < times; time += 1) void module.get(WorkerService).drain();
    await ended;
    module.get(IngressClient).close();
    await module.close();
  }

  async remove(): Promise<void> {
    await this.stop(2);
    await this.control.stop();
    await rm(this.directory, { recursive: true });
  }

  /** The line with which the worker logs `event`, once it has. */
  logged(event: string): Promise<string> {
    return until(event, () => this.log.find((line) => line.includes(`"event":"${event}"`)), {
      situation: () => this.log.join(''),
    });
  }

  /** Everything on the worker's disk, for a search. */
  async diskBytes(): Promise<Buffer> {
    const files = await readdir(this.stateDirectory, { recursive: true, withFileTypes: true });
    const contents = files
      .filter((file) => file.isFile())
      .map((file) => readFile(join(file.parentPath, file.name)));
    return Buffer.concat(await Promise.all(contents));
  }
}
