import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { logArtifactId } from '@valise/contracts/documents';
import { REASON_CODES, ValiseError, type ReasonCode } from '@valise/contracts/failure';
import { EventLog } from '../events/event-log.js';
import type { Launch } from '../inbox/inbox-record.js';
import { ActivationService } from './activation.service.js';
import type { Attempt } from './attempt.js';
import { AttemptRecords } from './attempt-records.js';
import { ConclusionService } from './conclusion.service.js';
import { AttemptRefused } from './halt.js';
import { heard } from './heard.js';
import { discardChannels } from './output-channels.js';
import { PreparationService } from './preparation.service.js';
import { Shutdown } from './shutdown.js';
import { SlotProcesses } from './slot-processes.js';
import { TaskService, type Outlet, type Task } from './task.service.js';

/** Takes one attempt from the accepted offer to its acknowledged end. */
@Injectable()
export class AttemptService {
  constructor(
    private readonly activation: ActivationService,
    private readonly processes: SlotProcesses,
    private readonly preparation: PreparationService,
    private readonly tasks: TaskService,
    private readonly conclusion: ConclusionService,
    private readonly records: AttemptRecords,
    private readonly shutdown: Shutdown,
    private readonly log: EventLog,
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
      await this.records.keep(attempt, { kind: 'start_failed', reasonCode }, AbortSignal.abort());
      await this.conclusion.reportStartFailure(attempt, reasonCode);
      return null;
    }
  }

  /** From `launching` on, only the launcher can vouch that nothing runs; any other failure is the next start's to look into. */
  #isRefusedForSure(attempt: Attempt, error: unknown): boolean {
    const state = this.records.stateOf(attempt);
    return error instanceof AttemptRefused || state === 'accepted' || state === 'starting_acknowledged';
  }

  async #launch(attempt: Attempt): Promise<Task> {
    const { halt, lease } = attempt;
    await this.activation.starting(attempt);
    await this.processes.clear(attempt);
    const { patterns, ...prepared } = await this.preparation.prepare(attempt);
    let outlet: Outlet | null = null;
    try {
      const launch = launchOf(attempt);
      outlet = await this.tasks.allocate(attempt, launch, patterns);
      const { artifact, channels } = outlet;
      // The fence is checked with control once more; between here and the exec stands only what must.
      await lease.confirm(halt.signal);
      halt.throwIfRequested();
      const launched = await this.tasks.execute(attempt, launch, { ...prepared, channels });
      return { launch, launched, artifact, patterns };
    } catch (error) {
      if (outlet) discardChannels(outlet.channels);
      prepared.handover.fill(0);
      patterns.forget();
      await outlet?.artifact.finish();
      throw error;
    }
  }

  async #finish(attempt: Attempt, task: Task): Promise<void> {
    const over = new AbortController();
    const acknowledged = heard(this.activation.running(attempt, task, over.signal));
    const exit = await this.tasks.finish(attempt, task, over);
    await acknowledged;
    await this.conclusion.complete(attempt, task.launch, exit);
  }
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
