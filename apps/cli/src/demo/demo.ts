import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { DeliveryRecordView, RunView } from '@valise/contracts/wire';
import { Refusal } from '../refusal.js';
import type { CleanUp } from './clean-up.js';
import { migrate, startControl, untilListening, type ControlProcess } from './control-process.js';
import { DemoDatabase, type DatabaseUrlFiles } from './database.js';
import type { DemoOptions } from './demo-options.js';
import { startEmbeddedPostgres } from './embedded-postgres.js';
import { ManagementClient } from './management-client.js';
import { tellWorkerEvents } from './worker-events.js';
import { mountSecrets } from './mounted-secrets.js';
import { createPki, type Pki } from './pki.js';
import type { Program } from './program.js';
import { Proof, type ProofResult, type Surface } from './proof.js';
import type { Narrator } from './narrator.js';
import { needlesOf, type TaskInput } from './task-input.js';
import { publicCommand, saysTheSame, taskRequest } from './task.js';
import { Watchdog } from './watchdog.js';
import { startWorker } from './worker-process.js';
import { makeWorkplace, type Workplace } from './workplace.js';

/** What the demo found out. */
export interface DemoResult {
  readonly run: RunView;
  readonly deliveries: readonly DeliveryRecordView[];
  readonly log: Buffer;
  readonly proof: ProofResult;
}

const TRUST_DOMAIN = 'demo.valise.example';
const WORKER_ID = 'worker-1';
const OPERATOR_ID = 'you';
const TASK_ID = 'hello';
const PROGRAMS = ['control', 'worker'].map((name) => join(__dirname, '../../../../..', name));
const ENDED = new Set(['succeeded', 'failed', 'cancelled', 'timed_out', 'lost']);
const REGISTER_DEADLINE_MS = 20_000;
const CLAIM_DEADLINE_MS = 20_000;
const LOOK_EVERY_MS = 100;

/** One run of the main job, from a file on disk to a process, with real parts, and the proof afterwards. */
export class Demo {
  readonly projectId = `demo-${randomBytes(3).toString('hex')}`;
  readonly proof: Proof;

  constructor(
    private readonly options: DemoOptions,
    private readonly input: TaskInput,
    private readonly narrator: Narrator,
    private readonly signal: AbortSignal,
    private readonly cleanUp: CleanUp,
  ) {
    this.proof = new Proof(needlesOf(input));
  }

  /** Everything that was started is registered with the clean-up before the next thing is. @throws Refusal */
  async run(): Promise<DemoResult> {
    const { narrator, cleanUp } = this;
    const watchdog = Watchdog.start();
    cleanUp.add(() => watchdog.dismiss());
    const workplace = makeWorkplace(this.options.keep);
    for (const path of workplace.remove) {
      watchdog.remove(path);
      cleanUp.removeDirectory(path, path === workplace.root && this.options.keep !== null);
    }

    const { database, files, dataDirectory } = await narrator.run(
      'postgresql',
      () => this.startDatabase(workplace, watchdog),
      this.options.databaseUrl === null
        ? 'PostgreSQL runs, on its own, with the schema and three roles that may do little each.'
        : 'The PostgreSQL you named has a database for this demo, with the schema and three logins that may do little each.',
    );
    const pki = await narrator.run(
      'certificates',
      () =>
        createPki(workplace.pki, {
          trustDomain: TRUST_DOMAIN,
          workerId: WORKER_ID,
          operatorId: OPERATOR_ID,
        }),
      'Certificates for control, one worker and one operator: who somebody is, a certificate says and nothing else.',
    );
    const surface = await this.surfaceOf(workplace, database, dataDirectory);
    await narrator.run(
      'baseline',
      () => this.proof.learn(surface, PROGRAMS, [JSON.stringify(publicCommand(this.options.command))]),
      'Searched all of it for your names and values, to know what was there before they came.',
    );
    const references = await narrator.run(
      'bundle',
      () => mountSecrets(workplace.mountedSecrets, this.projectId, this.input),
      `${this.input.entries.length} variables are one bundle in a file that only control can read; so is each ordinary secret (${this.input.secrets.length}).`,
    );
    const { control, management } = await narrator.run(
      'control',
      () => this.startControl(workplace, pki, files, watchdog),
      ({ routes }) =>
        `Control is ready: one address for workers, one for operators, both behind mutual TLS 1.3; it describes its ${routes} routes itself.`,
    );
    const worker = await narrator.run(
      'worker',
      () => this.startWorker(workplace, pki, control, management, watchdog),
      'The worker is allowed to serve this project, has registered, and asks for work.',
    );
    await narrator.run(
      'publish',
      () => this.publish(management, taskRequest(this.options.command, references)),
      'The task is published. What the database keeps of its secrets is a reference; the same request again changed nothing.',
    );
    const { run, log, deliveries } = await this.runTask(management, worker);
    if (this.options.keep === null) {
      await narrator.run(
        'shutdown',
        async () => {
          await worker.stop();
          await control.program.stop();
        },
        'Worker and control have ended; what they wrote stays for the search.',
      );
    }
    const proof = await narrator.run(
      'proof',
      () => this.proof.search(surface, log),
      ({ searchedBytes, needles, found }) =>
        `Searched ${searchedBytes} bytes for ${needles} names and values, in every spelling: ${found.length} found.`,
    );
    if (surface.databaseFiles === null) {
      narrator.detail(
        'The files of that PostgreSQL are out of reach from here: it was searched through SQL alone.',
      );
    }
    if (this.options.keep !== null) await this.keepRunning(workplace, pki, control, run);
    return { run, deliveries, log, proof };
  }

  private async startDatabase(
    workplace: Workplace,
    watchdog: Watchdog,
  ): Promise<{ database: DemoDatabase; files: DatabaseUrlFiles; dataDirectory: string | null }> {
    let serverUrl = this.options.databaseUrl;
    let dataDirectory: string | null = null;
    if (serverUrl === null) {
      const server = await startEmbeddedPostgres({ directory: workplace.postgres });
      watchdog.end(server.pid, 'SIGQUIT');
      this.cleanUp.add(() => server.stop());
      ({ url: serverUrl, dataDirectory } = server);
    }
    const database = await DemoDatabase.create(serverUrl);
    if (dataDirectory === null) {
      watchdog.clean(database.traces);
      this.cleanUp.add(() => database.remove());
    } else {
      this.cleanUp.add(() => database.close());
    }
    await migrate(workplace, database.url);
    return { database, files: await database.createLogins(workplace.settings), dataDirectory };
  }

  private async surfaceOf(
    workplace: Workplace,
    database: DemoDatabase,
    dataDirectory: string | null,
  ): Promise<Surface> {
    const client = await database.connect();
    this.cleanUp.add(() => client.end());
    return {
      database: client,
      paths: workplace.remove,
      except: [workplace.mountedSecrets, join(workplace.postgres, 'binaries')],
      temporary: workplace.temporary,
      databaseFiles: dataDirectory,
    };
  }

  private async startControl(
    workplace: Workplace,
    pki: Pki,
    files: DatabaseUrlFiles,
    watchdog: Watchdog,
  ): Promise<{ control: ControlProcess; management: ManagementClient; routes: number }> {
    const names = { trustDomain: TRUST_DOMAIN, operatorId: OPERATOR_ID };
    const program = startControl(workplace, pki, files, names);
    watchdog.end(program.pid);
    this.cleanUp.add(() => program.stop());
    const control = await untilListening(program, this.signal);
    const origin = `https://127.0.0.1:${control.ports.management}`;
    const management = new ManagementClient(origin, pki.caFile, pki.operator);
    this.cleanUp.add(() => {
      management.close();
    });
    return { control, management, routes: await management.describedRoutes() };
  }

  private async startWorker(
    workplace: Workplace,
    pki: Pki,
    control: ControlProcess,
    management: ManagementClient,
    watchdog: Watchdog,
  ): Promise<Program> {
    await management.putWorker(WORKER_ID, { status: 'active', projects: [this.projectId], labels: {} });
    const program = startWorker(workplace, pki, control);
    watchdog.end(program.pid);
    this.cleanUp.add(() => program.stop());
    await program.waitFor('registered', this.signal, REGISTER_DEADLINE_MS);
    return program;
  }

  private async publish(
    management: ManagementClient,
    request: ReturnType<typeof taskRequest>,
  ): Promise<void> {
    const first = await management.publish(this.projectId, TASK_ID, request);
    const again = await management.publish(this.projectId, TASK_ID, request);
    if (first.outcome !== 'published' || again.outcome !== 'replayed' || again.revision !== first.revision) {
      throw new Refusal('control did not answer a repeated publication as a replay.');
    }
  }

  private async runTask(
    management: ManagementClient,
    worker: Program,
  ): Promise<{ run: RunView; log: Buffer; deliveries: readonly DeliveryRecordView[] }> {
    const { narrator, projectId, signal } = this;
    const { runId } = await management.startRun(projectId, TASK_ID, { mutationId: randomUUID() });
    await narrator.run(
      'claim',
      () => worker.waitFor('claimed', signal, CLAIM_DEADLINE_MS),
      'The worker has claimed the run: a lease that only it holds, and that ends if it falls silent.',
    );
    const run = await narrator.run(
      'run',
      () => this.untilEnded(management, runId),
      ({ status }) =>
        `It asked for the bundle, control checked its right in one transaction and delivered once, the process ran: ${status}.`,
    );
    const { log, deliveries } = await narrator.run(
      'record',
      async () => ({
        log: await management.log(projectId, runId),
        deliveries: await management.deliveries(projectId, runId),
      }),
      'Control has the masked log and the record of every delivery.',
    );
    for (const line of tellWorkerEvents(worker.lines, runId)) narrator.detail(line);
    this.tellRun(run, log, deliveries);
    return { run, log, deliveries };
  }

  private async untilEnded(management: ManagementClient, runId: string): Promise<RunView> {
    for (;;) {
      const run = await management.run(this.projectId, runId);
      if (ENDED.has(run.status)) return run;
      await delay(LOOK_EVERY_MS, undefined, { signal: this.signal });
    }
  }

  private tellRun(run: RunView, log: Buffer, deliveries: readonly DeliveryRecordView[]): void {
    const { narrator } = this;
    const attempt = run.attempts.at(-1);
    const code = attempt?.exitCode === undefined ? '' : `, exit code ${attempt.exitCode}`;
    const reason = attempt?.reasonCode === undefined ? '' : `, reason ${attempt.reasonCode}`;
    narrator.detail(`run ${run.status}${code}${reason}; the task printed:`);
    for (const line of log.toString('utf8').trimEnd().split('\n').slice(0, 20)) narrator.detail(`| ${line}`);
    if (this.options.command.length === 0 && saysTheSame(log, this.input)) {
      narrator.detail('That digest is the one of what was packed: every byte arrived as it was.');
    }
    for (const record of deliveries) {
      narrator.detail(
        `delivery to ${record.workerId}, attempt ${record.attemptId}: ${record.bundleCount} bundle, ` +
          `${record.secretCount} secrets, ${record.decision}, ${record.outcome ?? 'outcome unknown'}`,
      );
    }
  }

  /** Tells how to reach everything, and waits for Ctrl-C. */
  private async keepRunning(
    workplace: Workplace,
    pki: Pki,
    control: ControlProcess,
    run: RunView,
  ): Promise<void> {
    const { narrator } = this;
    const { certificateFile, keyFile } = pki.operator;
    const origin = `https://127.0.0.1:${control.ports.management}`;
    narrator.heading(`Everything goes on running in ${workplace.root} until you press Ctrl-C.`);
    narrator.line('Ask control as an operator:');
    narrator.line(
      `  curl --cacert ${pki.caFile} --cert ${certificateFile} --key ${keyFile} ` +
        `${origin}/api/v3/projects/${this.projectId}/runs/${run.runId}`,
    );
    narrator.line(`Its description of all routes: ${origin}/openapi.json (with the same certificates)`);
    narrator.line(`Its health: curl http://127.0.0.1:${control.ports.plain}/readyz`);
    narrator.line(`Logs: ${workplace.logs}`);
    if (this.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const alive = setInterval(() => undefined, 60_000);
      this.signal.addEventListener('abort', () => {
        clearInterval(alive);
        resolve();
      });
    });
  }
}
