import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { logArtifactId, sha256Hex } from '@valise/contracts/documents';
import { REASON_CODES, ValiseError, type ReasonCode } from '@valise/contracts/failure';
import type { ActivationResponse } from '@valise/contracts/wire';
import { pause } from '../clock/pause.js';
import { Inbox } from '../inbox/inbox.js';
import type { Exit, Launch } from '../inbox/inbox-record.js';
import type { InboxEvent } from '../inbox/inbox-transition.js';
import { Control } from '../ingress/control.js';
import type { Session } from '../ingress/ingress-path.js';
import { isFence } from '../ingress/refusal.js';
import { scrubStack } from '../ingress/stack.js';
import { EventLog } from '../events/event-log.js';
import type { LogArtifact } from '../logs/log-artifact.js';
import { LogStore } from '../logs/log-store.js';
import { SessionService } from '../sessions/session.service.js';
import { askUntilDecided, Undecided } from './ask-until-decided.js';
import type { Attempt } from './attempt.js';
import { ConclusionService } from './conclusion.service.js';
import { exitOf } from './exit.js';
import { AttemptRefused } from './halt.js';
import { Launcher, type Launched, type LaunchPlan } from './launcher.js';
import { discardChannels, type OutputChannels } from './output-channels.js';
import { PreparationService, type Prepared } from './preparation.service.js';
import { recordUntilWritten } from './record-until-written.js';
import { Shutdown } from './shutdown.js';
import { SlotProcesses } from './slot-processes.js';
import { Steps } from '../events/steps.js';

/** How long output may still come when every process that could write it is gone. */
const OUTPUT_REST_MS = 2000;

interface Task {
  readonly launch: Launch;
  readonly launched: Launched;
  readonly artifact: LogArtifact;
  readonly prepared: Prepared;
}

/** Takes one attempt from the accepted offer to its acknowledged end. */
@Injectable()
export class AttemptService {
  constructor(
    private readonly inbox: Inbox,
    private readonly control: Control,
    private readonly sessions: SessionService,
    private readonly preparation: PreparationService,
    private readonly launcher: Launcher,
    private readonly processes: SlotProcesses,
    private readonly conclusion: ConclusionService,
    private readonly shutdown: Shutdown,
    private readonly steps: Steps,
    private readonly log: EventLog,
    private readonly logs: LogStore,
  ) {}

  /**
   * Carries a slot whose record is accepted or starting_acknowledged, under a lease that is anchored.
   * @throws Undecided when the worker leaves first; the record says how far it came
   */
  async carry(attempt: Attempt): Promise<void> {
    const { halt, lease } = attempt;
    const stop = (): void => {
      halt.request('worker_shutdown');
    };
    const { stopping } = this.shutdown;
    if (stopping.aborted) stop();
    else stopping.addEventListener('abort', stop);
    void lease.keep();
    try {
      const task = await this.#start(attempt);
      if (task) await this.#finish(attempt, task);
    } finally {
      stopping.removeEventListener('abort', stop);
      lease.release();
    }
  }

  /** The running task; or null, when the attempt was refused and control knows. */
  async #start(attempt: Attempt): Promise<Task | null> {
    try {
      return await this.#launch(attempt);
    } catch (error) {
      if (!this.#isRefusedForSure(attempt, error)) throw error;
      const reasonCode = reasonOf(error, attempt);
      this.log.failure('start_refused', error, { ...attempt.names, reasonCode });
      await this.#record(attempt, { kind: 'start_failed', reasonCode }, AbortSignal.abort());
      await this.conclusion.reportStartFailure(attempt, reasonCode);
      return null;
    }
  }

  /** From `launching` on, only the launcher can vouch that nothing runs; any other failure is the next start's to look into. */
  #isRefusedForSure({ slot }: Attempt, error: unknown): boolean {
    const state = this.inbox.record(slot)?.state;
    return error instanceof AttemptRefused || state === 'accepted' || state === 'starting_acknowledged';
  }

  async #launch(attempt: Attempt): Promise<Task> {
    const { halt, names } = attempt;
    await this.#acknowledgeStarting(attempt);
    await this.processes.clear(attempt);
    const prepared = await this.preparation.prepare(attempt);
    let artifact: LogArtifact | null = null;
    let channels: OutputChannels | null = null;
    try {
      const launch = launchOf(attempt);
      artifact = await this.#allocate(launch, prepared);
      channels = await this.#openChannels();
      this.steps.reached('artifact_allocated', { ...names, unmaskable: prepared.patterns.unmaskable });
      // The fence is checked with control once more; between here and the exec stands only what must.
      await attempt.lease.confirm(halt.signal);
      halt.throwIfRequested();
      return {
        launch,
        artifact,
        prepared,
        launched: await this.#execute(attempt, launch, { ...prepared, channels }),
      };
    } catch (error) {
      if (channels) discardChannels(channels);
      prepared.handover.fill(0);
      prepared.patterns.forget();
      await artifact?.finish();
      throw error;
    }
  }

  async #execute(attempt: Attempt, launch: Launch, plan: Omit<LaunchPlan, 'slot'>): Promise<Launched> {
    const { slot, names, lease } = attempt;
    await this.#recordOrRefuse(attempt, { kind: 'launching', launch });
    if (!lease.isHeld) throw new AttemptRefused('lease_lost');
    const launched = this.launcher.launch({ slot, ...plan });
    const { identity } = launched;
    this.steps.reached('spawned', { ...names, pid: identity.pid });
    const settled = new AbortController();
    const halted = heard(this.#endWhenHalted(attempt, launched, settled.signal));
    try {
      await this.#record(attempt, { kind: 'started', process: identity });
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

  async #finish(attempt: Attempt, task: Task): Promise<void> {
    const { launch, launched } = task;
    const over = new AbortController();
    const acknowledged = heard(this.#acknowledgeRunning(attempt, launch, launched, over.signal));
    const exit = await this.#collect(attempt, task, over);
    await acknowledged;
    await this.conclusion.complete(attempt, launch, exit);
  }

  /** Whatever fails, no more is written to the log afterwards, and the values are gone. */
  async #collect(attempt: Attempt, task: Task, over: AbortController): Promise<Exit> {
    const { launched, artifact, prepared } = task;
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
        prepared.patterns.forget();
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
      await this.#record(attempt, { kind: 'exited', exit });
      this.steps.reached('exited', { ...names, exitCode: end.exitCode, signal: end.signal });
    } finally {
      over.abort();
      await halted;
    }
    await this.processes.end(attempt, identity);
    this.steps.reached('slot_empty', names);
    return exit;
  }

  async #acknowledgeStarting(attempt: Attempt): Promise<void> {
    const { slot, halt, lease, names, revision } = attempt;
    await this.#askAsHolder(attempt, halt.signal, (session) => this.control.starting(session, lease.fence));
    halt.throwIfRequested();
    const { timeoutMs } = revision;
    if (timeoutMs !== undefined) {
      void pause(timeoutMs, lease.released).then(() => {
        if (!lease.released.aborted) halt.request('stopped_by_timeout');
      });
    }
    if (this.inbox.record(slot)?.state === 'accepted') {
      await this.#recordOrRefuse(attempt, { kind: 'starting_acknowledged' });
    }
    this.steps.reached('starting_acknowledged', names);
  }

  /** Control is told that the task runs, unless the task is over first: its completion says so too. */
  async #acknowledgeRunning(
    attempt: Attempt,
    launch: Launch,
    { identity }: Launched,
    over: AbortSignal,
  ): Promise<void> {
    const { slot, lease, names } = attempt;
    const request = {
      executorHandle: `slot=${slot} pid=${identity.pid} start=${identity.startTime}`,
      logArtifactId: launch.logArtifactId,
      callbackSequence: 1,
      callbackTokenDigest: sha256Hex(launch.callbackToken),
    };
    try {
      await this.#askAsHolder(attempt, over, (session) =>
        this.control.running(session, { ...lease.fence, ...request }),
      );
    } catch (error) {
      if (error instanceof Undecided) return;
      throw error;
    }
    await this.#record(attempt, { kind: 'running_acknowledged' }, over);
    this.steps.reached('running_acknowledged', names);
  }

  /** A fence here is not the end: the renewal decides, and the question is asked again when the lease still holds. */
  async #askAsHolder(
    { halt, lease, names }: Attempt,
    until: AbortSignal,
    ask: (session: Session) => Promise<ActivationResponse>,
  ): Promise<void> {
    const asked = async (): Promise<ActivationResponse> => {
      try {
        return await this.sessions.within(ask);
      } catch (error) {
        if (isFence(error)) await lease.confirm(until);
        throw error;
      }
    };
    const { status } = await askUntilDecided(asked, AbortSignal.any([until, halt.urgent]), (error) => {
      this.log.failure('activation_failed', error, names);
    });
    if (status === 'already_terminal') await lease.confirm(until);
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

  /** Nothing may happen that the disk does not know of. */
  async #recordOrRefuse({ slot, names }: Attempt, event: InboxEvent): Promise<void> {
    try {
      await this.inbox.advance(slot, event);
    } catch (error) {
      if (error instanceof ValiseError) throw error;
      this.log.failure('inbox_unwritable', error, names);
      throw new AttemptRefused('artifact_unavailable');
    }
  }

  /** It has happened: the disk is given the time that the lease, the worker and `until` leave. */
  async #record({ slot, halt, names }: Attempt, event: InboxEvent, ...until: AbortSignal[]): Promise<void> {
    const patience = [halt.urgent, this.shutdown.leaving, ...until];
    await recordUntilWritten(this.inbox, slot, event, patience, (error) => {
      this.log.failure('inbox_unwritable', error, names);
    });
  }

  async #openChannels(): Promise<OutputChannels> {
    try {
      return await this.launcher.openChannels();
    } catch {
      throw new AttemptRefused('artifact_unavailable');
    }
  }

  async #allocate(launch: Launch, { patterns }: Prepared): Promise<LogArtifact> {
    try {
      return await this.logs.create(launch.logArtifactId, patterns);
    } catch {
      throw new AttemptRefused('artifact_unavailable');
    }
  }
}

/** Whoever awaits it later hears of its failure; it may come before that. */
function heard<T>(later: Promise<T>): Promise<T> {
  later.catch(() => undefined);
  return later;
}

function launchOf({ offer }: Attempt): Launch {
  return {
    logArtifactId: logArtifactId({ ...offer.candidate, offerId: offer.offerId }),
    callbackToken: randomBytes(32).toString('base64url'),
    launchedAtMs: Date.now(),
  };
}

/** Why nothing was started, in the words that control knows. */
function reasonOf(error: unknown, { halt }: Attempt): ReasonCode | null {
  if (halt.reasonCode !== null) return halt.reasonCode;
  if (error instanceof AttemptRefused) return error.reasonCode;
  if (!(error instanceof ValiseError)) return null;
  return REASON_CODES.find((reason) => reason === error.code) ?? null;
}
