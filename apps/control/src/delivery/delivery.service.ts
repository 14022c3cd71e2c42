import { Inject, Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { Logger } from 'pino';
import { DeliveryAuthority, type DeliveryGrant, type DeliveryOutcome } from '@valise/authority';
import { writeDeliveryResponse } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import { forget } from '@valise/process';
import type { SecretDeliveryRequest } from '@valise/contracts/wire';
import { CustodyError, SecretCustody } from '../custody/secret-custody.js';
import type { Place } from '../admission/admission.js';
import type { WorkerCaller } from '../http/callers.js';
import { LOG } from '../log/log.js';
import type { LabelsOf } from '../metrics/catalogue.js';
import { Metrics } from '../metrics/metrics.js';
import { sendDocument } from './response-writer.js';

const CUSTODY_RETRY_AFTER_MS = 1000;

type Phase = LabelsOf<'valise_delivery_phase_seconds'>['phase'];

/** One delivery: decided and recorded first, read and sent after, and what became of it recorded last. */
@Injectable()
export class DeliveryService {
  constructor(
    private readonly authority: DeliveryAuthority,
    private readonly custody: SecretCustody,
    @Inject(LOG) private readonly log: Logger,
    private readonly metrics: Metrics,
  ) {}

  /** @throws ValiseError before the first byte was sent; after it, only the connection's end tells the worker. */
  async deliver(
    caller: WorkerCaller,
    request: SecretDeliveryRequest,
    bodyDigest: string,
    response: Response,
    place: Place,
  ): Promise<void> {
    const grant = await this.timed('authorise', () => this.authority.authorize(caller, request, bodyDigest));
    // The connection is back in the pool: files that hang and workers that read slowly take nobody's turn.
    place.rest();
    const deadlineAtMs = grant.respondByMs;
    const document = await this.timed('custody', () => this.prepare(grant, deadlineAtMs));
    // Once it is sent it is empty.
    const { length } = document;
    const outcome = await this.timed('write', () =>
      sendDocument(response, document, deadlineAtMs - performance.now()),
    );
    if (outcome === 'sent') this.metrics.count('valise_delivered_bytes_total', {}, length);
    await this.settle(grant, outcome);
  }

  /** The response document. Nothing of the material outlives this call but the document itself. */
  private async prepare(grant: DeliveryGrant, deadlineAtMs: number): Promise<Buffer<ArrayBuffer>> {
    try {
      const material = await this.custody.resolve(grant, deadlineAtMs);
      try {
        const { runId, attemptId, offerId, executionDigest } = grant;
        const { values, environmentBundles } = material;
        const document = writeDeliveryResponse({
          runId,
          attemptId,
          offerId,
          executionDigest,
          values,
          environmentBundles,
        });
        if (performance.now() < deadlineAtMs) return document;
        forget(document);
        throw new CustodyError('deadline', null);
      } finally {
        material.forget();
      }
    } catch (error) {
      await this.settle(grant, 'custody_failed');
      throw this.asFailure(error, grant);
    }
  }

  private asFailure(error: unknown, { recordId, attemptId }: DeliveryGrant): unknown {
    if (error instanceof CustodyError) {
      const { fault, projection } = error;
      this.metrics.count('valise_custody_failures_total', { fault });
      this.log.warn(
        { event: 'custody_failed', recordId, attemptId, fault, projection },
        'the material cannot be read',
      );
      return new ValiseError('worker_secret_delivery_unavailable', { retryAfterMs: CUSTODY_RETRY_AFTER_MS });
    }
    if (error instanceof ValiseError && error.code !== 'REMOTE_SECRET_DELIVERY_TOO_LARGE') {
      // The stored bytes break their contract (not UTF-8, a NUL, over budget): the operator's to mend, not the worker's.
      this.metrics.count('valise_custody_failures_total', { fault: 'invalid' });
      this.log.warn(
        { event: 'custody_failed', recordId, attemptId, fault: 'invalid', ...error.facts },
        'the material is invalid',
      );
      return new ValiseError('worker_secret_delivery_unavailable', { retryAfterMs: CUSTODY_RETRY_AFTER_MS });
    }
    return error;
  }

  /** An outcome that cannot be recorded leaves the record open, which reads as unknown; the answer stands. */
  private async settle(grant: DeliveryGrant, outcome: DeliveryOutcome): Promise<void> {
    this.metrics.count('valise_deliveries_total', { outcome });
    try {
      await this.authority.settle(grant, outcome);
    } catch (error) {
      this.log.error(
        { err: error, event: 'outcome_unrecorded', recordId: grant.recordId, outcome },
        'no outcome on record',
      );
    }
  }

  private async timed<T>(phase: Phase, act: () => Promise<T>): Promise<T> {
    const startedAtMs = performance.now();
    try {
      return await act();
    } finally {
      this.metrics.observe(
        'valise_delivery_phase_seconds',
        { phase },
        (performance.now() - startedAtMs) / 1000,
      );
    }
  }
}
