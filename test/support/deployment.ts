import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectionFileName } from '@valise/contracts/documents';
import type { PublishTaskRequest, PutWorkerRequest, RunView } from '@valise/contracts/wire';
import { Program } from '../../apps/cli/src/demo/program.js';
import { ManagementClient, type IdentityFiles } from '../../apps/cli/src/management/management-client.js';
import { hasEnded } from '../../apps/cli/src/runs/run.command.js';
import { FILE_SETS } from '../../apps/control/src/tls/transport-facts.js';
import type { TestDatabase } from './postgres.js';
import { BUNDLE, PROJECT, publication, SECRET } from './postgres-world.js';
import { PlayedWorker } from './played-worker.js';
import { type TestIdentity, TestPki, TRUST_DOMAIN } from './test-pki.js';
import { until } from './until.js';
import { type Answer, WorkerClient } from './worker-client.js';

export { TRUST_DOMAIN };

/** Every kind of operator; `alice` is the one that tests act as. */
export const OPERATORS = {
  alice: { '*': 'admin' },
  viewer: { [PROJECT]: 'viewer' },
  editor: { [PROJECT]: 'editor' },
  'project-admin': { [PROJECT]: 'admin' },
  elsewhere: { 'another-project': 'admin' },
};
const START_DEADLINE_MS = 30_000;
const ROOT = join(__dirname, '../..');

/** The built program `name`. */
export const programFile = (name: 'control' | 'worker' | 'cli'): string =>
  join(ROOT, 'dist', name, 'apps', name, 'src', 'main.js');

/** Control as a process of its own, with its database, its certificates and its mounted secrets. */
export class Deployment {
  private readonly programs: Program[] = [];

  private constructor(
    readonly directory: string,
    readonly database: TestDatabase,
    readonly pki: TestPki,
  ) {}

  control: Program;
  operator: TestIdentity;
  /** Control's own certificate, as it was at the start. */
  server: TestIdentity;
  ports: { readonly ingress: number; readonly management: number; readonly plain: number };
  management: ManagementClient;

  static async start(
    database: TestDatabase,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<Deployment> {
    const directory = mkdtempSync(join(tmpdir(), 'valise-e2e-'));
    chmodSync(directory, 0o711);
    mkdirSync(join(directory, 'secrets'), { mode: 0o700 });
    const deployment = new Deployment(
      directory,
      database,
      await TestPki.create(join(directory, 'pki'), TRUST_DOMAIN),
    );
    try {
      await deployment.startControl(settings);
      return deployment;
    } catch (error) {
      await deployment.stop();
      throw error;
    }
  }

  private async startControl(settings: Readonly<Record<string, string>>): Promise<void> {
    const { pki, database } = this;
    await pki.revoke();
    const control = await pki.server('control');
    this.server = control;
    this.operator = await pki.operator('alice');
    const file = (name: string, content: string): string => {
      const path = join(this.directory, name);
      writeFileSync(path, content, { mode: 0o600 });
      return path;
    };
    const program = this.launch('control', {
      VALISE_TRUST_DOMAIN: TRUST_DOMAIN,
      VALISE_INGRESS_DATABASE_URL_FILE: file('ingress-url', database.url('valise_ingress')),
      VALISE_OPERATOR_DATABASE_URL_FILE: file('operator-url', database.url('valise_operator')),
      VALISE_SWEEPER_DATABASE_URL_FILE: file('sweeper-url', database.url('valise_sweeper')),
      VALISE_INGRESS_LISTEN: '127.0.0.1:0',
      VALISE_MANAGEMENT_LISTEN: '127.0.0.1:0',
      VALISE_PLAIN_LISTEN: '127.0.0.1:0',
      VALISE_TLS_CERTIFICATE_FILE: control.certificateFile,
      VALISE_TLS_KEY_FILE: control.keyFile,
      VALISE_TLS_CLIENT_CA_FILE: pki.caFile,
      VALISE_TLS_REVOCATION_FILE: pki.revocationFile,
      VALISE_SECRETS_DIRECTORY: join(this.directory, 'secrets'),
      VALISE_OPERATORS_FILE: file('operators', JSON.stringify(OPERATORS)),
      ...settings,
    });
    this.control = program;
    const line = await program.waitFor(
      'listening',
      AbortSignal.timeout(START_DEADLINE_MS),
      START_DEADLINE_MS,
    );
    this.ports = {
      ingress: Number(line.ingress),
      management: Number(line.management),
      plain: Number(line.plain),
    };
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
    const client = new WorkerClient(this.ports.management, 'alice', this.pki.caFile, this.operator);
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
    return this.launch('worker', {
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
    return PlayedWorker.register(this.caller(workerId, await this.pki.worker(workerId)));
  }

  /** Somebody with a certificate who calls the worker-facing listener. */
  caller(workerId: string, identity: IdentityFiles): WorkerClient {
    return new WorkerClient(this.ports.ingress, workerId, this.pki.caFile, identity);
  }

  /** A worker's name in a certificate of an authority that nobody trusts. */
  async foreignIdentity(): Promise<{ cert: Buffer; key: Buffer }> {
    const pki = await TestPki.create(join(this.directory, `foreign-${randomUUID()}`), TRUST_DOMAIN);
    const { certificateFile, keyFile } = await pki.worker('w-1');
    return { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
  }

  /** Lays a secret where control looks for it. */
  lay(reference: string, content: string | Buffer): void {
    const path = this.secretPath(reference);
    rmSync(path, { force: true });
    writeFileSync(path, content, { mode: 0o400 });
  }

  secretPath(reference: string): string {
    return join(this.directory, 'secrets', projectionFileName(reference));
  }

  /** The one secret and the bundle that `publication()` asks for. */
  layDefaultSecrets(): void {
    this.lay(SECRET, 'a secret token');
    this.lay(
      BUNDLE,
      '{"schema":"qinglong/environment-bundle@v1","entries":[{"name":"FROM_BUNDLE","value":"a bundle value"}]}',
    );
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
    return this.programs
      .map(({ name }) => readFileSync(join(this.directory, `${name}.log`), 'utf8'))
      .join('\n');
  }

  private launch(name: 'control' | 'worker', environment: Record<string, string>): Program {
    const instance = `${name}-${this.programs.length}`;
    const program = Program.start({
      name: instance,
      file: programFile(name),
      environment: {
        PATH: process.env.PATH ?? '',
        HOME: this.directory,
        TMPDIR: this.directory,
        ...environment,
      },
      workingDirectory: this.directory,
      logFile: join(this.directory, `${instance}.log`),
    });
    this.programs.push(program);
    return program;
  }

  async stop(): Promise<void> {
    // There is none where control did not start.
    if ('management' in this) this.management.close();
    for (const program of [...this.programs].reverse()) await program.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** A task that only one worker may run, by the label that operators gave it. */
export function onlyFor(workerId: string): Partial<PublishTaskRequest> {
  const { spec } = publication();
  const config = { ...(spec.config as object), placement: { required: { labels: { worker: workerId } } } };
  return { spec: { ...spec, config } };
}

/** Gives the suite a deployment over its database. */
export function useDeployment(
  database: () => TestDatabase,
  settings: Readonly<Record<string, string>> = {},
): () => Deployment {
  let deployment: Deployment | undefined;
  beforeAll(async () => {
    deployment = await Deployment.start(database(), settings);
    deployment.layDefaultSecrets();
  }, 120_000);
  afterAll(() => deployment?.stop(), 60_000);
  return () => {
    if (!deployment) throw new Error('the deployment exists while tests run');
    return deployment;
  };
}
