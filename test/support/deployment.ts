import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PublishTaskRequest, PutWorkerRequest, RunView } from '@valise/contracts/wire';
import type { Program } from '../../apps/cli/src/demo/program.js';
import { ManagementClient, type IdentityFiles } from '../../apps/cli/src/management/management-client.js';
import { hasEnded } from '../../apps/cli/src/runs/run.command.js';
import { FILE_SETS } from '../../apps/control/src/tls/transport-facts.js';
import { programFile } from './built-program.js';
import { ControlSettings } from './control-settings.js';
import { MountedSecrets } from './mounted-secrets.js';
import { PlayedWorker } from './played-worker.js';
import type { TestDatabase } from './postgres.js';
import { logged, Programs } from './programs.js';
import { PROJECT, publication } from './published-task.js';
import { type TestIdentity, TestPki } from './test-pki.js';
import { until } from './until.js';
import { wireCaller, type WireCaller } from './wire/wire-caller.js';
import { type Answer, WireClient } from './wire/wire-client.js';

/** Control as a process of its own, with its database, its certificates and its mounted secrets. */
export class Deployment {
  readonly programs: Programs;
  readonly secrets: MountedSecrets;
  readonly settings: ControlSettings;
  control: Program;
  operator: TestIdentity;
  /** Control's own certificate, as it was at the start. */
  server: TestIdentity;
  ports: { readonly ingress: number; readonly management: number; readonly plain: number };
  management: ManagementClient;

  private constructor(
    readonly directory: string,
    readonly database: TestDatabase,
    readonly pki: TestPki,
  ) {
    this.programs = new Programs(directory);
    this.secrets = new MountedSecrets(join(directory, 'secrets'));
    this.settings = new ControlSettings(directory, database, this.secrets, pki);
  }

  static async start(
    database: TestDatabase,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<Deployment> {
    const directory = mkdtempSync(join(tmpdir(), 'valise-e2e-'));
    chmodSync(directory, 0o711);
    const pki = await TestPki.create(join(directory, 'pki'));
    const deployment = new Deployment(directory, database, pki);
    try {
      await deployment.startControl(settings);
      return deployment;
    } catch (error) {
      await deployment.stop();
      throw error;
    }
  }

  private async startControl(settings: Readonly<Record<string, string>>): Promise<void> {
    const { pki } = this;
    await pki.revoke();
    this.server = await pki.server('control');
    this.operator = await pki.operator('alice');
    this.control = this.programs.start('control', { ...this.settings.of('both', this.server), ...settings });
    const { ingress, management, plain } = await logged(this.control, 'listening');
    this.ports = { ingress: Number(ingress), management: Number(management), plain: Number(plain) };
    this.management = new ManagementClient(
      `https://127.0.0.1:${this.ports.management}`,
      pki.caFile,
      this.operator,
    );
  }

  /** The command line, as the operator with all rights. */
  valise(...args: string[]): {
    readonly status: number | null;
    readonly stdout: string;
    readonly stderr: string;
  } {
    return spawnSync(process.execPath, ['--', programFile('cli'), ...args], {
      encoding: 'utf8',
      env: {
        VALISE_MANAGEMENT_URL: `https://127.0.0.1:${this.ports.management}`,
        VALISE_TLS_CA_FILE: this.pki.caFile,
        VALISE_TLS_CERTIFICATE_FILE: this.operator.certificateFile,
        VALISE_TLS_KEY_FILE: this.operator.keyFile,
      },
    });
  }

  /** What the management listener answers to the operator with all rights. */
  async read(path: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
    const client = new WireClient(this.callerAt('management', this.operator));
    try {
      return await client.send('GET', `/api/v3/${path}`, null, headers);
    } finally {
      client.close();
    }
  }

  /** Control reads its files again; answers, for each set of them, whether it took them. */
  async reload(): Promise<Readonly<Record<string, boolean>>> {
    const { lines, pid } = this.control;
    const before = lines.length;
    process.kill(pid, 'SIGHUP');
    const look = (): Record<string, boolean> | false => {
      const said = lines.slice(before).filter(({ event }) => String(event).startsWith('reload'));
      const taken = new Map(said.map(({ set, event }) => [String(set), event === 'reloaded']));
      return taken.size === FILE_SETS.length && Object.fromEntries(taken);
    };
    return until('a reload', look, { situation: () => this.logs() });
  }

  /** A worker as a process. */
  async startWorker(workerId: string, settings: Readonly<Record<string, string>> = {}): Promise<Program> {
    const identity = await this.pki.worker(workerId);
    const state = join(this.directory, `worker-${workerId}`);
    mkdirSync(state, { recursive: true, mode: 0o700 });
    return this.programs.start('worker', {
      VALISE_CONTROL_URL: `https://127.0.0.1:${this.ports.ingress}`,
      VALISE_TLS_CERTIFICATE_FILE: identity.certificateFile,
      VALISE_TLS_KEY_FILE: identity.keyFile,
      VALISE_TLS_CA_FILE: this.pki.caFile,
      VALISE_STATE_DIRECTORY: state,
      VALISE_LEASE_DURATION_MS: '5000',
      ...(process.getuid?.() === 0 && {
        VALISE_SLOT_UID_BASE: String(2_000_000 + (process.pid % 1000) * 100),
      }),
      ...settings,
    });
  }

  /** A worker as the test plays it, over the wire; allowed to serve the project and in a session of its own. */
  async playedWorker(workerId = `played-${randomUUID()}`): Promise<PlayedWorker> {
    await this.allow(workerId, { labels: { worker: workerId } });
    return PlayedWorker.register(workerId, this.client(await this.pki.worker(workerId)));
  }

  /** Somebody with a certificate, or without one, at one of the listeners. */
  callerAt(listener: 'ingress' | 'management', identity: IdentityFiles | null): WireCaller {
    return wireCaller(this.ports[listener], this.pki.caFile, identity);
  }

  /** Somebody with a certificate who calls the worker-facing listener. */
  client(identity: IdentityFiles): WireClient {
    return new WireClient(this.callerAt('ingress', identity));
  }

  allow(workerId: string, change: Partial<PutWorkerRequest> = {}): Promise<unknown> {
    return this.management.putWorker(workerId, {
      status: 'active',
      projects: [PROJECT],
      labels: {},
      ...change,
    });
  }

  /** Publishes a task and starts a run of it. */
  async run(task: Partial<PublishTaskRequest> = {}): Promise<string> {
    const taskId = `task-${randomUUID()}`;
    await this.management.publish(PROJECT, taskId, publication(task));
    const { runId } = await this.management.startRun(PROJECT, taskId, { mutationId: randomUUID() });
    return runId;
  }

  /** The run once `holds` is true of it. */
  async runWhen(runId: string, holds: (run: RunView) => boolean, deadlineMs?: number): Promise<RunView> {
    let status = '';
    const look = async (): Promise<RunView | null> => {
      const run = await this.management.run(PROJECT, runId);
      status = run.status;
      return holds(run) ? run : null;
    };
    return until('another state of the run', look, {
      ...(deadlineMs !== undefined && { deadlineMs }),
      situation: () => `it is still ${status}\n${this.logs()}`,
    });
  }

  ended(runId: string): Promise<RunView> {
    return this.runWhen(runId, hasEnded);
  }

  /** What all programs logged. */
  logs(): string {
    return this.programs.logs();
  }

  async stop(): Promise<void> {
    // There is none where control did not start.
    if ('management' in this) this.management.close();
    await this.programs.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Gives the suite a deployment over its database. */
export function useDeployment(
  database: () => TestDatabase,
  settings: Readonly<Record<string, string>> = {},
): () => Deployment {
  let deployment: Deployment | undefined;
  beforeAll(async () => {
    deployment = await Deployment.start(database(), settings);
    deployment.secrets.layDefaults();
  }, 120_000);
  afterAll(() => deployment?.stop(), 60_000);
  return () => {
    if (!deployment) throw new Error('the deployment exists while tests run');
    return deployment;
  };
}
