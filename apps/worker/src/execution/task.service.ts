import { Injectable } from '@nestjs/common';
import { Steps } from '../events/steps.js';
import type { Exit, Launch } from '../inbox/inbox-record.js';
import { scrubStack } from '../ingress/stack.js';
import type { LogArtifact } from '../logs/log-artifact.js';
import { LogStore } from '../logs/log-store.js';
import type { MaskPatterns } from '../logs/mask-patterns.js';
import type { Attempt } from './attempt.js';
import { AttemptRecords } from './attempt-records.js';
import { exitOf } from './exit.js';
import { AttemptRefused } from './halt.js';
import { heard } from './heard.js';
import { Launcher, type Launched, type LaunchPlan } from './launcher.js';
import type { OutputChannels } from './output-channels.js';
import { SlotProcesses } from './slot-processes.js';

/** How long output may still come when every process that could write it is gone. */
const OUTPUT_REST_MS = 2000;

/** Where the output of a task will go. */
export interface Outlet {
  readonly artifact: LogArtifact;
  readonly channels: OutputChannels;
}

/** What runs in a slot. */
export interface Task {
  readonly launch: Launch;
  readonly launched: Launched;
  readonly artifact: LogArtifact;
  readonly patterns: MaskPatterns;
}

/** The task of an attempt: its output, its process and its end. */
@Injectable()
export class TaskService {
  constructor(
    private readonly launcher: Launcher,
    private readonly processes: SlotProcesses,
    private readonly logs: LogStore,
    private readonly records: AttemptRecords,
    private readonly steps: Steps,
  ) {}

  /** @throws AttemptRefused when there is no room for the output, or no way */
  async allocate({ names }: Attempt, { logArtifactId }: Launch, patterns: MaskPatterns): Promise<Outlet> {
    const artifact = await orUnavailable(this.logs.create(logArtifactId, patterns));
    try {
      const channels = await orUnavailable(this.launcher.openChannels());
      this.steps.reached('artifact_allocated', { ...names, unmaskable: patterns.unmaskable });
      return { artifact, channels };
    } catch (error) {
      await artifact.finish();
      throw error;
    }
  }

  /**
   * The command is executing, and the disk knows.
   * @throws AttemptRefused when it certainly never will; whatever is thrown, nothing of it lives
   */
  async execute(attempt: Attempt, launch: Launch, plan: Omit<LaunchPlan, 'slot'>): Promise<Launched> {
    const { slot, names, lease } = attempt;
    await this.records.announce(attempt, { kind: 'launching', launch });
    if (!lease.isHeld) throw new AttemptRefused('lease_lost');
    const launched = this.launcher.launch({ slot, ...plan });
    const { identity } = launched;
    this.steps.reached('spawned', { ...names, pid: identity.pid });
    const settled = new AbortController();
    const halted = heard(this.#endWhenHalted(attempt, launched, settled.signal));
    try {
      await this.records.keep(attempt, { kind: 'started', process: identity });
      await launched.executing;
    } catch (error) {
      await this.processes.end(attempt, identity);
      throw error;
    } finally {
      settled.abort();
      await halted;
    }
    this.steps.reached('started', { ...names, pid: identity.pid });
    return launched;
  }

  /**
   * Takes the output to its end; aborts `over` when the process has ended. Whatever fails, no more is written to the log
   * afterwards, and the values are gone.
   */
  async finish(attempt: Attempt, task: Task, over: AbortController): Promise<Exit> {
    const { launched, artifact, patterns } = task;
    const { stdout, stderr } = launched;
    const collected = [artifact.collect('stdout', stdout), artifact.collect('stderr', stderr)].map(heard);
    const breakOff = (): void => {
      for (const stream of [stdout, stderr]) stream.destroy();
    };
    let rest: NodeJS.Timeout | undefined;
    try {
      const exit = await this.#end(attempt, task, over);
      // Whatever could write is gone; a descriptor that was handed to a stranger does not hold the attempt up.
      rest = setTimeout(breakOff, OUTPUT_REST_MS);
      await Promise.all(collected);
      return exit;
    } finally {
      clearTimeout(rest);
      breakOff();
      await Promise.allSettled(collected);
      await artifact.finish().finally(() => {
        patterns.forget();
        return scrubStack();
      });
    }
  }

  /** The task has ended, the disk knows how, and nothing of it lives. */
  async #end(attempt: Attempt, { launch, launched }: Task, over: AbortController): Promise<Exit> {
    const { halt, names } = attempt;
    const { identity } = launched;
    const halted = heard(this.#endWhenHalted(attempt, launched, over.signal));
    let exit: Exit;
    try {
      const end = await launched.ended;
      exit = exitOf(end, halt.reasonCode, launch);
      await this.records.keep(attempt, { kind: 'exited', exit });
      this.steps.reached('exited', { ...names, exitCode: end.exitCode, signal: end.signal });
    } finally {
      over.abort();
      await halted;
    }
    await this.processes.end(attempt, identity);
    this.steps.reached('slot_empty', names);
    return exit;
  }

  /** Ends everything of the slot once the attempt may not go on, unless it is over first. */
  async #endWhenHalted(attempt: Attempt, { identity }: Launched, over: AbortSignal): Promise<void> {
    const { signal } = attempt.halt;
    const either = AbortSignal.any([signal, over]);
    if (!either.aborted) {
      await new Promise((resolve) => {
        either.addEventListener('abort', resolve);
      });
    }
    if (signal.aborted && !over.aborted) await this.processes.end(attempt, identity);
  }
}

async function orUnavailable<T>(output: Promise<T>): Promise<T> {
  try {
    return await output;
  } catch {
    throw new AttemptRefused('artifact_unavailable');
  }
}
