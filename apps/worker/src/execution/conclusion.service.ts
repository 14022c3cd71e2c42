import { Injectable } from '@nestjs/common';
import { logArtifactId, sha256Hex } from '@valise/contracts/documents';
import { ValiseError, type FailureCode, type ReasonCode } from '@valise/contracts/failure';
import { ARTIFACT_UPLOAD_SCHEMA, COMPLETION_SCHEMA, type CompletionRequest } from '@valise/contracts/wire';
import { Inbox } from '../inbox/inbox.js';
import type { Exit, Launch } from '../inbox/inbox-record.js';
import type { InboxEvent } from '../inbox/inbox-transition.js';
import { Control } from '../ingress/control.js';
import type { Session } from '../ingress/ingress-path.js';
import type { Message } from '../ingress/message.js';
import { isFence } from '../ingress/refusal.js';
import { EventLog } from '../events/event-log.js';
import { LogStore, type CompleteLog } from '../logs/log-store.js';
import { SessionService } from '../sessions/session.service.js';
import { askUntilDecided } from './ask-until-decided.js';
import type { Attempt } from './attempt.js';
import { AttemptRecords } from './attempt-records.js';
import { Shutdown } from './shutdown.js';
import { Steps } from '../events/steps.js';

/** `running` has sequence 1. */
const COMPLETION_SEQUENCE = 2;

/** Refusals of a log that the next question would meet again. */
const NEVER_TAKEN: ReadonlySet<FailureCode> = new Set(['request_too_large', 'invalid_worker_request']);

/** Tells control how an attempt ended, for as long as that takes, and only then forgets it. */
@Injectable()
export class ConclusionService {
  constructor(
    private readonly inbox: Inbox,
    private readonly records: AttemptRecords,
    private readonly control: Control,
    private readonly sessions: SessionService,
    private readonly shutdown: Shutdown,
    private readonly steps: Steps,
    private readonly log: EventLog,
    private readonly logs: LogStore,
  ) {}

  /**
   * The slot's start_failed record is reported and forgotten.
   * @throws Undecided when the worker leaves before control has decided
   */
  async reportStartFailure(attempt: Attempt, reasonCode: ReasonCode | null): Promise<void> {
    const { lease, names } = attempt;
    const reason = reasonCode === null ? {} : { reasonCode };
    const answer = await this.#untilDecided(attempt, (session) =>
      this.control.startFailure(session, { ...lease.fence, ...reason }),
    );
    await this.#acknowledged(attempt, { kind: 'start_failure_acknowledged' });
    this.steps.reached('start_failed', { ...names, reasonCode, status: answer?.status ?? 'fenced' });
    await this.#forget(attempt);
  }

  /**
   * The slot's exited record is reported with its log, and forgotten.
   * @throws Undecided when the worker leaves before control has decided
   */
  async complete(attempt: Attempt, launch: Launch, exit: Exit): Promise<void> {
    const { names } = attempt;
    const log = await this.logs.read(launch.logArtifactId);
    await this.#storeLog(attempt, launch, log);
    const answer = await this.#untilDecided(attempt, (session) =>
      this.control.complete(session, completionOf(attempt, launch, exit, log)),
    );
    await this.#acknowledged(attempt, { kind: 'completion_acknowledged' });
    const { outcome } = exit.result;
    this.steps.reached('completed', { ...names, outcome, status: answer?.status ?? 'fenced' });
    await this.#forget(attempt);
  }

  /** An attempt that is not ours any more has no use for its log; one whose log control never takes ends without it. */
  async #storeLog(attempt: Attempt, { logArtifactId }: Launch, log: CompleteLog): Promise<void> {
    const { byteLength, truncated } = log;
    const receipt = await this.#untilDecided(attempt, async (session) => {
      const header = {
        ...attempt.lease.fence,
        schema: ARTIFACT_UPLOAD_SCHEMA,
        logArtifactId,
        byteLength,
        truncated,
      };
      try {
        return await this.control.store(session, { ...header, schema: ARTIFACT_UPLOAD_SCHEMA }, log);
      } catch (error) {
        if (!(error instanceof ValiseError && NEVER_TAKEN.has(error.code))) throw error;
        this.log.failure('artifact_refused', error, attempt.names);
        return null;
      }
    });
    if (receipt) this.steps.reached('artifact_stored', { ...attempt.names, byteLength, truncated });
  }

  /** Control's answer, or null when it has fenced the question: someone else has decided. */
  #untilDecided<T>(attempt: Attempt, ask: (session: Session) => Promise<T>): Promise<T | null> {
    const orFenced = async (): Promise<T | null> => {
      try {
        return await this.sessions.within(ask);
      } catch (error) {
        if (!isFence(error)) throw error;
        this.log.info('fenced', { ...attempt.names, rule: (error as ValiseError).code });
        return null;
      }
    };
    return askUntilDecided(orFenced, this.shutdown.leaving, (error) => {
      this.log.failure('report_failed', error, attempt.names);
    });
  }

  /** Control knows; a disk that does not take it costs one more question after a crash. */
  #acknowledged(attempt: Attempt, event: InboxEvent): Promise<void> {
    return this.records.keep(attempt, event, AbortSignal.abort());
  }

  async #forget({ slot, offer }: Attempt): Promise<void> {
    await this.logs.remove(logArtifactId({ ...offer.candidate, offerId: offer.offerId }));
    await this.inbox.forget(slot);
  }
}

function completionOf(
  attempt: Attempt,
  launch: Launch,
  exit: Exit,
  log: CompleteLog,
): Message<CompletionRequest> {
  const { logArtifactId, callbackToken } = launch;
  const { byteLength, sha256, truncated } = log;
  return {
    ...attempt.lease.fence,
    schema: COMPLETION_SCHEMA,
    callbackSequence: COMPLETION_SEQUENCE,
    callbackTokenDigest: sha256Hex(callbackToken),
    result: exit.result,
    artifact: { logArtifactId, byteLength, sha256, truncated },
    ...(exit.reasonCode !== null && { reasonCode: exit.reasonCode }),
    ...(exit.signal !== null && { signal: exit.signal }),
  };
}
