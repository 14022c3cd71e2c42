import { Injectable } from '@nestjs/common';
import { sha256Hex } from '@valise/contracts/documents';
import type { ActivationResponse } from '@valise/contracts/wire';
import { pause } from '../clock/pause.js';
import { EventLog } from '../events/event-log.js';
import { Steps } from '../events/steps.js';
import { Control } from '../ingress/control.js';
import type { Session } from '../ingress/ingress-path.js';
import { isFence } from '../ingress/refusal.js';
import { SessionService } from '../sessions/session.service.js';
import { askUntilDecided, Undecided } from './ask-until-decided.js';
import type { Attempt } from './attempt.js';
import { AttemptRecords } from './attempt-records.js';
import type { Task } from './task.service.js';

/** Tells control that an attempt is about to start, and that its task runs. */
@Injectable()
export class ActivationService {
  constructor(
    private readonly control: Control,
    private readonly sessions: SessionService,
    private readonly records: AttemptRecords,
    private readonly steps: Steps,
    private readonly log: EventLog,
  ) {}

  /**
   * Control and the disk know that the attempt starts, and its timeout counts.
   * @throws AttemptRefused when it may not, or the disk does not take it; Undecided when its time is over first
   */
  async starting(attempt: Attempt): Promise<void> {
    const { halt, lease, names, revision } = attempt;
    await this.#askAsHolder(attempt, halt.signal, (session) => this.control.starting(session, lease.fence));
    halt.throwIfRequested();
    const { timeoutMs } = revision;
    if (timeoutMs !== undefined) {
      void pause(timeoutMs, lease.released).then(() => {
        if (!lease.released.aborted) halt.request('stopped_by_timeout');
      });
    }
    if (this.records.stateOf(attempt) === 'accepted') {
      await this.records.announce(attempt, { kind: 'starting_acknowledged' });
    }
    this.steps.reached('starting_acknowledged', names);
  }

  /** Control is told that the task runs, unless the task is `over` first: its completion says so too. */
  async running(attempt: Attempt, { launch, launched }: Task, over: AbortSignal): Promise<void> {
    const { slot, lease, names } = attempt;
    const { identity } = launched;
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
    await this.records.keep(attempt, { kind: 'running_acknowledged' }, over);
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
}
