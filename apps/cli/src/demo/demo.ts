import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunView } from '@valise/contracts/wire';
import { Refusal } from '../refusal.js';
import { hasEnded } from '../runs/run.command.js';
import type { CleanUp } from './clean-up.js';
import type { DemoOptions } from './demo-options.js';
import { tellHowToReach, tellRun, type DemoResult } from './demo-report.js';
import type { ManagementClient } from '../management/management-client.js';
import { mountSecrets } from './mounted-secrets.js';
import type { Narrator } from './narrator.js';
import type { Program } from './program.js';
import { Proof } from './proof.js';
import { Stage } from './stage.js';
import { needlesOf, type TaskInput } from './task-input.js';
import { publicCommand, saysTheSame, taskRequest } from './task.js';
import { tellWorkerEvents } from './worker-events.js';

const TASK_ID = 'hello';
const PROGRAMS = ['control', 'worker'].map((name) => join(__dirname, '../../../../..', name));
const CLAIM_DEADLINE_MS = 20_000;
const LOOK_EVERY_MS = 100;

/** One run of the main job, from a file on disk to a process, with real parts, and the proof afterwards. */
export class Demo {
  readonly projectId = `demo-${randomBytes(6).toString('hex')}`;
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

  /** @throws Refusal */
  async run(): Promise<DemoResult> {
    const { narrator, options } = this;
    const stage = Stage.set(options.keep, this.cleanUp, this.signal);
    const { workplace } = stage;
    const staged = await narrator.run(
      'postgresql',
      () => stage.startDatabase(options.databaseUrl),
      options.databaseUrl === null
        ? 'PostgreSQL runs, on its own, with the schema and three roles that may do little each.'
        : 'The PostgreSQL you named has a database for this demo, with the schema and three logins that may do little each.',
    );
    const pki = await narrator.run(
      'certificates',
      () => stage.issueCertificates(),
      'Certificates for control, one worker and one operator: who somebody is, a certificate says and nothing else.',
    );
    const surface = await stage.surfaceOf(staged);
    await narrator.run(
      'baseline',
      () => this.proof.learn(surface, PROGRAMS, [JSON.stringify(publicCommand(options.command))]),
      'Searched all of it for your names and values, to know what was there before they came.',
    );
    const references = await narrator.run(
      'bundle',
      () => mountSecrets(workplace.mountedSecrets, this.projectId, this.input),
      `${this.input.entries.length} variables are one bundle in a file that only control can read; so is each ordinary secret (${this.input.secrets.length}).`,
    );
    const control = await narrator.run(
      'control',
      () => stage.startControl(pki, staged.files),
      ({ routes }) =>
        `Control is ready: one address for workers, one for operators, both behind mutual TLS 1.3; it describes its ${routes} routes itself.`,
    );
    const worker = await narrator.run(
      'worker',
      () => stage.startWorker(pki, control, this.projectId),
      'The worker is allowed to serve this project, has registered, and asks for work.',
    );
    await narrator.run(
      'publish',
      () => this.publish(control.management, taskRequest(options.command, references)),
      'The task is published. What the database keeps of its secrets is a reference; the same request again changed nothing.',
    );
    const { run, log, deliveries } = await this.runTask(control.management, worker);
    if (options.keep === null) {
      await narrator.run(
        'shutdown',
        async () => {
          await worker.stop();
          await control.control.program.stop();
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
    if (staged.dataDirectory === null) {
      narrator.detail(
        'The files of that PostgreSQL are out of reach from here: it was searched through SQL alone.',
      );
    }
    if (options.keep !== null) {
      narrator.heading(`Everything goes on running in ${workplace.root} until you press Ctrl-C.`);
      tellHowToReach(narrator, control, pki, { run, logs: workplace.logs });
      await this.untilStopped();
    }
    return { run, deliveries, log, proof };
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

  private async runTask(management: ManagementClient, worker: Program): Promise<Omit<DemoResult, 'proof'>> {
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
    tellRun(narrator, run, log, deliveries);
    if (this.options.command.length === 0 && saysTheSame(log, this.input)) {
      narrator.detail('The digest it printed is the one of what was packed: every byte arrived as it was.');
    }
    return { run, log, deliveries };
  }

  private async untilEnded(management: ManagementClient, runId: string): Promise<RunView> {
    for (;;) {
      const run = await management.run(this.projectId, runId);
      if (hasEnded(run)) return run;
      await delay(LOOK_EVERY_MS, undefined, { signal: this.signal });
    }
  }

  private async untilStopped(): Promise<void> {
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
