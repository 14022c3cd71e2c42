import { Injectable } from '@nestjs/common';
import {
  parseJson,
  readDeliveryResponse,
  readExecutionRevision,
  sha256Hex,
  type OpenDelivery,
} from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import {
  ActivationResponse,
  ARTIFACT_CONTENT_TYPE,
  ARTIFACT_UPLOAD_DEADLINE_MS,
  ArtifactUploadResponse,
  CompletionResponse,
  LeaseControlResponse,
  OfferResponse,
  readBody,
  SessionHeartbeatResponse,
  SessionRegisterResponse,
  SessionTransitionResponse,
  type ArtifactUploadHeader,
  type CompletionRequest,
  type LeaseControlRequest,
  type LeaseFence,
  type OfferRequest,
  type RunningRequest,
  type SecretDeliveryRequest,
  type SessionHeartbeatRequest,
  type SessionRegisterRequest,
  type SessionTransitionRequest,
  type StartFailureRequest,
  type StartingRequest,
} from '@valise/contracts/wire';
import type { Answer } from './answer.js';
import { IngressClient } from './ingress-client.js';
import { pathOf, type Operation, type Session } from './ingress-path.js';
import type { Message } from './message.js';
import { refusalOf } from './refusal.js';
import { scrubStack } from './stack.js';

/** A log artefact as it lies on the worker's disk. */
export interface StoredLog {
  readonly byteLength: number;
  readonly sha256: string;
  readonly chunks: () => AsyncIterable<Uint8Array>;
}

const DEADLINE_MS = 15_000;

/**
 * Control's worker ingress, one method per route of wire.md §6. Every question may be repeated. An answer is given out
 * only when it is well-formed and about what was asked.
 * @throws ValiseError control's refusal with its code, control_unreachable, or control_answer_invalid
 */
@Injectable()
export class Control {
  constructor(private readonly client: IngressClient) {}

  async register(
    session: Session,
    request: Message<SessionRegisterRequest>,
  ): Promise<SessionRegisterResponse> {
    return sameSession(session, await this.#ask(session, 'register', request, SessionRegisterResponse));
  }

  async heartbeat(
    session: Session,
    request: Message<SessionHeartbeatRequest>,
  ): Promise<SessionHeartbeatResponse> {
    return sameSession(session, await this.#ask(session, 'heartbeat', request, SessionHeartbeatResponse));
  }

  async transition(
    session: Session,
    request: Message<SessionTransitionRequest>,
  ): Promise<SessionTransitionResponse> {
    return sameSession(session, await this.#ask(session, 'transition', request, SessionTransitionResponse));
  }

  async claim(session: Session, request: Message<OfferRequest>): Promise<OfferResponse> {
    const answer = await this.#ask(session, 'offers', request, OfferResponse);
    const { offer } = answer;
    assertAnswers((answer.status === 'offered') === (offer !== undefined), 'offer');
    if (!offer) return answer;
    const revision = readExecutionRevision(offer.executionRevision);
    const { candidate, worker } = offer;
    assertAnswers(offer.offerId === request.offerId, 'offerId');
    assertAnswers(worker.workerId === session.workerId, 'workerId');
    assertAnswers(offer.executionDigest === revision.contentDigest, 'executionDigest');
    assertAnswers(candidate.projectId === revision.projectId, 'projectId');
    assertAnswers(candidate.taskId === revision.taskId, 'taskId');
    assertAnswers(candidate.taskRevision === revision.taskRevision, 'taskRevision');
    return answer;
  }

  async starting(session: Session, request: Message<StartingRequest>): Promise<ActivationResponse> {
    return sameAttempt(request, await this.#ask(session, 'starting', request, ActivationResponse));
  }

  async startFailure(session: Session, request: Message<StartFailureRequest>): Promise<ActivationResponse> {
    return sameAttempt(request, await this.#ask(session, 'start-failure', request, ActivationResponse));
  }

  async running(session: Session, request: Message<RunningRequest>): Promise<ActivationResponse> {
    return sameAttempt(request, await this.#ask(session, 'running', request, ActivationResponse));
  }

  async renew(
    session: Session,
    request: Message<LeaseControlRequest>,
    deadlineMs: number,
  ): Promise<LeaseControlResponse> {
    const answer = await this.#ask(session, 'lease-control', request, LeaseControlResponse, deadlineMs);
    assertAnswers((answer.status === 'stop_requested') === (answer.stop !== undefined), 'stop');
    return answer;
  }

  /**
   * Asks for the material, for `withinMs` at most, and opens it; the answer's own bytes are zeroed, and so is the stack
   * TLS decrypted them on.
   * @throws ValiseError also secret_response_invalid, when the answer is not exactly what was asked for
   */
  async deliver(
    session: Session,
    request: Message<SecretDeliveryRequest>,
    withinMs: number,
  ): Promise<OpenDelivery> {
    const deadlineMs = Math.min(DEADLINE_MS, withinMs);
    const { body } = await this.#exchange(session, 'secrets', jsonBody(request), deadlineMs);
    try {
      return readDeliveryResponse(body, request);
    } catch (error) {
      if (!(error instanceof ValiseError)) throw error;
      throw new ValiseError('secret_response_invalid', { ...error.facts });
    } finally {
      body.fill(0);
      await scrubStack();
    }
  }

  async store(
    session: Session,
    header: Message<ArtifactUploadHeader>,
    log: StoredLog,
  ): Promise<ArtifactUploadResponse> {
    const json = Buffer.from(JSON.stringify(header), 'utf8');
    const prefix = Buffer.alloc(4);
    prefix.writeUInt32BE(json.length);
    const byteLength = prefix.length + json.length + log.byteLength;
    async function* chunks(): AsyncIterable<Uint8Array> {
      yield prefix;
      yield json;
      yield* log.chunks();
    }
    const body = { contentType: ARTIFACT_CONTENT_TYPE, byteLength, chunks };
    const answer = await this.#exchange(session, 'artifacts', body, ARTIFACT_UPLOAD_DEADLINE_MS);
    const receipt = readBody(ArtifactUploadResponse, jsonOf(answer), 'control_answer_invalid');
    assertAnswers(receipt.byteLength === log.byteLength && receipt.sha256 === log.sha256, 'sha256');
    return receipt;
  }

  async complete(session: Session, request: Message<CompletionRequest>): Promise<CompletionResponse> {
    const answer = await this.#ask(session, 'completion', request, CompletionResponse);
    assertAnswers(answer.runId === request.runId && answer.attemptId === request.attemptId, 'attemptId');
    return answer;
  }

  async #ask<T extends object>(
    session: Session,
    operation: Operation,
    request: object,
    type: new () => T,
    deadlineMs = DEADLINE_MS,
  ): Promise<T> {
    const answer = await this.#exchange(session, operation, jsonBody(request), deadlineMs);
    return readBody(type, jsonOf(answer), 'control_answer_invalid');
  }

  async #exchange(session: Session, operation: Operation, body: Body, deadlineMs: number): Promise<Answer> {
    const answer = await this.client.exchange({ path: pathOf(session, operation), ...body, deadlineMs });
    if (answer.status === 200) {
      if (/^application\/json(;|$)/.test(answer.contentType)) return answer;
      answer.body.fill(0);
      throw new ValiseError('control_answer_invalid', { rule: 'content_type', operation });
    }
    const refusal = refusalOf(answer);
    answer.body.fill(0);
    throw new ValiseError(refusal.code, { ...refusal.facts, operation });
  }
}

interface Body {
  readonly contentType: string;
  readonly byteLength: number;
  readonly chunks: () => Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

function jsonBody(request: object): Body {
  const json = Buffer.from(JSON.stringify(request), 'utf8');
  return { contentType: 'application/json', byteLength: json.length, chunks: () => [json] };
}

function jsonOf({ body }: Answer): unknown {
  try {
    return parseJson(body);
  } catch {
    throw new ValiseError('control_answer_invalid', { rule: 'json' });
  } finally {
    body.fill(0);
  }
}

function assertAnswers(holds: boolean, field: string): void {
  if (!holds) throw new ValiseError('control_answer_invalid', { field, rule: 'not_what_was_asked' });
}

function sameSession<T extends Session>(asked: Session, answer: T): T {
  assertAnswers(answer.workerId === asked.workerId && answer.sessionId === asked.sessionId, 'sessionId');
  return answer;
}

function sameAttempt(asked: Message<LeaseFence>, answer: ActivationResponse): ActivationResponse {
  const { runId, attemptId } = answer.snapshot;
  assertAnswers(runId === asked.runId && attemptId === asked.attemptId, 'attemptId');
  return answer;
}

/** The artefact of a task that never wrote anything, or whose file is gone. */
export const EMPTY_LOG: StoredLog = {
  byteLength: 0,
  sha256: sha256Hex(''),
  chunks: async function* () {
    // Nothing was written.
  },
};
