import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { createSecretReference, writeEnvironmentBundle } from '@valise/contracts/documents';
import { patternsOf } from '../../apps/cli/src/demo/needles.js';
import type { Program } from '../../apps/cli/src/demo/program.js';
import { Search } from '../../apps/cli/src/demo/search.js';
import type { Deployment } from '../support/deployment.js';
import { logged } from '../support/programs.js';
import { PROJECT, publication } from '../support/published-task.js';

/** Long enough that no lease ends while the worker is away. */
const LEASE_DURATION_MS = '60000';
const DEADLINE_MS = 60_000;

/** Where the worker is killed: at the first of the boundaries, once it has passed the other one. */
export interface Crash {
  readonly at: readonly string[];
  readonly after?: string;
}

/** One run, and the directory in which its command writes down what it really did. */
export interface CrashRun {
  readonly runId: string;
  readonly directory: string;
  /** Whether its command may end once the worker has acknowledged it as running. */
  readonly isLetGo: boolean;
}

/** A worker that is killed and started again over one inbox, and the runs that only it may carry. */
export class CrashWorker {
  readonly runs: CrashRun[] = [];
  readonly #bundleRef: string;
  readonly #search: Search;

  private constructor(
    private readonly deployment: Deployment,
    readonly workerId: string,
    private readonly uidBase: number,
    private readonly settings: Readonly<Record<string, string>>,
    variable: { readonly name: string; readonly value: string },
  ) {
    const { name, value } = variable;
    this.#bundleRef = createSecretReference({ projectId: PROJECT, name: workerId, version: 1 });
    deployment.secrets.lay(this.#bundleRef, writeEnvironmentBundle([variable]));
    this.#search = new Search(
      patternsOf([
        { label: 'the name', kind: 'name', bytes: Buffer.from(name) },
        { label: 'the value', kind: 'value', bytes: Buffer.from(value) },
      ]),
    );
  }

  /** Its tasks get a bundle of one variable, whose name begins with `prefix`. `uidBase` is no other worker's. */
  static async create(
    deployment: Deployment,
    uidBase: number,
    {
      prefix = 'CANARY',
      settings = {},
    }: { prefix?: string; settings?: Readonly<Record<string, string>> } = {},
  ): Promise<CrashWorker> {
    const nonce = randomUUID().replaceAll('-', '');
    const workerId = `crash-${nonce}`;
    await deployment.allow(workerId, { labels: { worker: workerId } });
    const variable = { name: `${prefix}_${nonce}`, value: `value-${nonce}` };
    return new CrashWorker(deployment, workerId, uidBase, settings, variable);
  }

  /** Queues a run whose command marks its beginning, prints its secret, waits to be let go, and marks its end. */
  async queue({ isLetGo = true } = {}): Promise<CrashRun> {
    const directory = join(this.deployment.directory, `run-${randomUUID()}`);
    mkdirSync(directory);
    // The command runs under a uid of its own.
    for (const mark of ['began', 'ended']) {
      writeFileSync(join(directory, mark), '');
      chmodSync(join(directory, mark), 0o666);
    }
    const command = [
      `echo began >> ${directory}/began`,
      `env | sed 's/^[^=]*=//' > /dev/stderr || :`,
      `while [ ! -e ${directory}/go ]; do sleep 0.02; done`,
      'echo the last line',
      `echo ended >> ${directory}/ended`,
    ].join('\n');
    const { spec } = publication();
    const config = {
      command: { kind: 'shell', command },
      environment: [],
      environmentBundleRef: this.#bundleRef,
      placement: { required: { labels: { worker: this.workerId } } },
    };
    const run = { runId: await this.deployment.run({ spec: { ...spec, config } }), directory, isLetGo };
    this.runs.push(run);
    return run;
  }

  /** Starts the worker. What it acknowledges as running is let go; where it is to crash, it does. */
  async live(crash: Crash | null = null): Promise<Program> {
    const program = await this.deployment.startWorker(this.workerId, {
      VALISE_LOG_LEVEL: 'debug',
      VALISE_LEASE_DURATION_MS: LEASE_DURATION_MS,
      ...(process.getuid?.() === 0 && { VALISE_SLOT_UID_BASE: String(this.uidBase) }),
      ...this.settings,
      ...(crash && {
        NODE_OPTIONS: `--import=${pathToFileURL(join(__dirname, 'worker-preload.mjs')).href}`,
        CRASH_AT: crash.at.join(','),
        ...(crash.after !== undefined && { CRASH_AFTER: crash.after }),
      }),
    });
    void this.#letGo(program);
    return program;
  }

  /** Lives until it is killed. @throws Error when it never comes to where that happens */
  async liveUntil(crash: Crash): Promise<Program> {
    const program = await this.live(crash);
    if (!(await deadWithin(DEADLINE_MS, program)))
      throw new Error(`the worker never came to ${crash.at.join(' or ')}: ${lastWords(program)}`);
    return program;
  }

  /** It lets what it has end, and ends. */
  async drain(program: Program): Promise<void> {
    // Before that a signal finds nobody who would listen.
    await logged(program, 'registered');
    process.kill(program.pid, 'SIGTERM');
    await program.finish();
  }

  /** Where the name or the value has been seen on the worker's disk, now or at an earlier look. */
  async sightings(): Promise<string[]> {
    const directory = join(this.deployment.directory, `worker-${this.workerId}`);
    if (existsSync(directory)) await this.#search.tree(directory);
    return this.#search.sightings.map(({ pattern, place }) => `${pattern.needle.label} in ${place}`);
  }

  async #letGo(program: Program): Promise<void> {
    const life = { isOver: false };
    void endOf(program).then(() => {
      life.isOver = true;
    });
    let seen = 0;
    while (!life.isOver) {
      for (; seen < program.lines.length; seen += 1) {
        const { event, runId } = program.lines[seen]!;
        const run = this.runs.find((candidate) => candidate.isLetGo && candidate.runId === runId);
        if (event === 'running_acknowledged' && run) writeFileSync(join(run.directory, 'go'), '');
      }
      await pause(10);
    }
  }
}

/** How often the run's command began and came to its end. */
export function marksOf({ directory }: CrashRun): { readonly began: number; readonly ended: number } {
  const count = (mark: string): number => readFileSync(join(directory, mark), 'utf8').split('\n').length - 1;
  return { began: count('began'), ended: count('ended') };
}

const lastWords = ({ lines }: Program): string =>
  lines
    .slice(-12)
    .map((line) => JSON.stringify(line))
    .join('\n');

const endOf = (program: Program): Promise<void> => program.finish().catch(() => undefined);

/** Whether the program ends in time. */
export async function deadWithin(deadlineMs: number, program: Program): Promise<boolean> {
  const over = new AbortController();
  const { signal } = over;
  try {
    return await Promise.race([endOf(program).then(() => true), pause(deadlineMs, false, { signal })]);
  } finally {
    over.abort();
  }
}
