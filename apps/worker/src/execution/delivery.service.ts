import { Injectable } from '@nestjs/common';
import { executionReferences, type OpenDelivery } from '@valise/contracts/documents';
import { ValiseError, type FailureCode, type ReasonCode } from '@valise/contracts/failure';
import { SECRET_DELIVERY_SCHEMA, type SecretDeliveryRequest } from '@valise/contracts/wire';
import { BackOff } from '../clock/back-off.js';
import { monotonicMs } from '../clock/monotonic.js';
import { pause } from '../clock/pause.js';
import { Control } from '../ingress/control.js';
import type { Message } from '../ingress/message.js';
import { isRefusal } from '../ingress/refusal.js';
import { EventLog } from '../events/event-log.js';
import { SessionService } from '../sessions/session.service.js';
import type { Attempt } from './attempt.js';
import { AttemptRefused } from './halt.js';

const PATIENCE_MS = 60_000;
const MAX_CUSTODY_FAILURES = 5;

/** Refusals that the next question would meet again. */
const FINAL: Partial<Record<FailureCode, ReasonCode>> = {
  secret_response_invalid: 'secret_response_invalid',
  delivery_budget_exhausted: 'delivery_budget_exhausted',
  REMOTE_SECRET_DELIVERY_TOO_LARGE: 'environment_budget_exceeded',
  REMOTE_SECRET_DELIVERY_INVALID: 'delivery_denied',
  invalid_worker_request: 'delivery_denied',
  worker_identity_mismatch: 'delivery_denied',
};

/** Fetches what an attempt's plan refers to. */
@Injectable()
export class DeliveryService {
  constructor(
    private readonly control: Control,
    private readonly sessions: SessionService,
    private readonly log: EventLog,
  ) {}

  /**
   * The complete material; whoever gets it wipes it. Nothing is asked for when the plan has no references.
   * @throws AttemptRefused with the reason, when it cannot be had within a minute or five failures of custody
   */
  async fetch(attempt: Attempt): Promise<OpenDelivery> {
    const { secretRefs, environmentBundleRefs } = executionReferences(attempt.revision);
    if (secretRefs.length + environmentBundleRefs.length === 0) return NOTHING;
    const backOff = new BackOff();
    const patientUntilMs = monotonicMs() + PATIENCE_MS;
    let custodyFailures = 0;
    for (;;) {
      attempt.halt.throwIfRequested();
      try {
        return await attempt.lease.serially(() => this.#ask(attempt, secretRefs, environmentBundleRefs));
      } catch (error) {
        this.log.failure('delivery_refused', error, attempt.names);
        const isDenied = isRefusal(error, 'worker_secret_delivery_fenced');
        if (isRefusal(error, 'worker_secret_delivery_unavailable')) custodyFailures += 1;
        const reason = error instanceof ValiseError ? FINAL[error.code] : undefined;
        if (reason !== undefined) throw new AttemptRefused(reason);
        if (custodyFailures >= MAX_CUSTODY_FAILURES || monotonicMs() >= patientUntilMs) {
          throw new AttemptRefused(isDenied ? 'delivery_denied' : 'secret_unavailable');
        }
        // Only lease-control's answer or our own clock ends a claim; the version may just have moved.
        if (isDenied) await attempt.lease.confirm(attempt.halt.signal);
        await pause(backOff.next(error), attempt.halt.signal);
      }
    }
  }

  async #ask(
    { offer, lease, halt }: Attempt,
    secretRefs: string[],
    environmentBundleRefs: string[],
  ): Promise<OpenDelivery> {
    halt.throwIfRequested();
    const { candidate, executionDigest } = offer;
    const { runId, attemptId, workerGeneration, offerId, leaseGeneration, leaseToken, expectedLeaseVersion } =
      lease.fence;
    const request: Message<SecretDeliveryRequest> = {
      schema: SECRET_DELIVERY_SCHEMA,
      workerGeneration,
      runId,
      attemptId,
      projectId: candidate.projectId,
      taskId: candidate.taskId,
      taskRevision: candidate.taskRevision,
      executionDigest,
      offerId,
      leaseGeneration,
      leaseToken,
      expectedLeaseVersion,
      secretRefs,
      environmentBundleRefs,
    };
    // What comes when the lease has run out is not waited for.
    return this.sessions.within((session) => this.control.deliver(session, request, lease.holdsForMs ?? 0));
  }
}

const NOTHING: OpenDelivery = { values: [], environmentBundles: [], wipe: () => undefined };
