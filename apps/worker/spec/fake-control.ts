import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import {
  sha256Hex,
  textOfLog,
  writeDeliveryResponse,
  type ExecutionRevision,
} from '@valise/contracts/documents';
import type { Offer } from '@valise/contracts/wire';
import type { Message } from '../src/ingress/message.js';
import { offerOf } from './plan.js';
import type { Issued } from '../../../test/support/test-authority.js';

/** One question of the worker, as it came. */
export interface Question {
  readonly operation: string;
  readonly workerId: string;
  readonly sessionId: string;
  /** The JSON body, or an artefact's header. */
  readonly body: Record<string, unknown>;
  /** The bytes of an artefact. */
  readonly content: Buffer;
}

/** What control answers: JSON with 200, a refusal, bytes as they are, or nothing at all. */
export type Reply =
  | { readonly json: object }
  | { readonly refuse: string; readonly status: number; readonly retryAfter?: number }
  | { readonly bytes: Buffer; readonly status: number; readonly headers: Record<string, string | number> }
  | 'hang up'
  | 'silence';

/** Refuses whatever is asked. */
export const refuse = (status: number, code: string) => (): Reply => ({ refuse: code, status });

/** Of a whole test, on a busy machine. */
const HEARD_DEADLINE_MS = 60_000;

type Behaviour = (question: Question) => Reply | Promise<Reply>;

/**
 * Control as far as a worker can tell, over real mutual TLS, with every answer in the test's hands. What is not
 * overridden grants whatever is asked.
 */
export class FakeControl {
  readonly questions: Question[] = [];
  readonly queue: ExecutionRevision[] = [];
  readonly secrets = new Map<string, Buffer>();
  readonly offers: Message<Offer>[] = [];
  readonly logs = new Map<string, Buffer>();
  readonly #overridden = new Map<string, Behaviour>();
  #watchers: (() => void)[] = [];
  #version = 1;
  #generation = 0;

  private constructor(private readonly server: Server) {}

  static async start({ certificate, key }: Issued, authority: string): Promise<FakeControl> {
    const server = createServer({
      cert: certificate,
      key,
      ca: authority,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.3',
    });
    const control = new FakeControl(server);
    server.on('request', (request, response) => {
      control.#serve(request, response).catch(() => response.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return control;
  }

  get url(): URL {
    return new URL(`https://127.0.0.1:${(this.server.address() as AddressInfo).port}`);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  /** From now on this operation is answered so; null goes back to granting. */
  on(operation: string, behaviour: Behaviour | null): void {
    if (behaviour) this.#overridden.set(operation, behaviour);
    else this.#overridden.delete(operation);
  }

  asked(operation: string): Question[] {
    return this.questions.filter((question) => question.operation === operation);
  }

  /** The question with which `operation` was asked the `count`th time. @throws when it is not asked so often in time */
  async heard(operation: string, count = 1, withinMs = HEARD_DEADLINE_MS): Promise<Question> {
    const deadline = performance.now() + withinMs;
    for (;;) {
      const asked = this.asked(operation);
      const question = asked[count - 1];
      if (question) return question;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw new Error(`${operation} was asked ${asked.length} times, not ${count}`);
      await this.#nextQuestion(leftMs);
    }
  }

  #nextQuestion(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#watchers.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** The log of the attempt that the question is about. @throws when it has none */
  logOf({ body }: Question): string {
    const log = this.logs.get(String(body.attemptId));
    if (!log) throw new Error('the attempt has no log');
    return log.toString();
  }

  /** What the operation is answered when nothing overrides it. */
  grant(question: Question): Reply {
    const { operation, body, workerId, sessionId } = question;
    const session = { workerId, sessionId, generation: Math.max(1, this.#generation), status: 'online' };
    const times = { version: this.#version++, leaseExpiresAtMs: Date.now() + 30_000 };
    switch (operation) {
      case 'register':
        this.#generation += 1;
        return {
          json: {
            schema: body.schema,
            ...session,
            generation: this.#generation,
            ...times,
            replacedSession: false,
          },
        };
      case 'heartbeat':
        return { json: { schema: body.schema, ...session, ...times } };
      case 'transition':
        return { json: { schema: body.schema, ...session, ...times, status: body.status } };
      case 'offers':
        return { json: { schema: 'qinglong/remote-execution-offer@v1', ...this.#claim(question) } };
      case 'starting':
        return this.activation(question, 'applied', 'starting');
      case 'start-failure':
        return this.activation(question, 'applied', 'failed');
      case 'running':
        return this.activation(question, 'applied', 'running');
      case 'lease-control':
        return this.renewal({ status: 'renewed' });
      case 'secrets':
        return this.#deliver(question);
      case 'artifacts': {
        this.logs.set(String(body.attemptId), textOfLog(question.content));
        const { length: byteLength } = question.content;
        return { json: { status: 'stored', byteLength, sha256: sha256Hex(question.content) } };
      }
      default: {
        const { runId, attemptId, callbackSequence } = body;
        return { json: { status: 'applied', runId, attemptId, callbackSequence } };
      }
    }
  }

  activation({ body }: Question, status: string, attemptStatus: string): Reply {
    const snapshot = {
      runId: body.runId,
      attemptId: body.attemptId,
      runStatus: 'dispatching',
      attemptStatus,
      leaseVersion: this.#version++,
      leaseGeneration: 1,
      callbackSequence: 0,
    };
    return { json: { schema: 'qinglong/remote-run-activation@v1', status, snapshot } };
  }

  renewal(answer: object): Reply {
    return { json: { leaseVersion: this.#version++, expiresAtMs: Date.now() + 30_000, ...answer } };
  }

  #claim({ body, workerId, sessionId }: Question): object {
    const revision = this.queue.shift();
    if (!revision) return { status: 'idle', reason: 'no_candidates', retryAfterMs: 20 };
    const generation = Number(body.workerGeneration);
    const offer = offerOf(revision, { offerId: String(body.offerId), workerId, sessionId, generation });
    this.offers.push(offer);
    return { status: 'offered', offer };
  }

  #deliver({ body }: Question): Reply {
    const { runId = '', attemptId = '', offerId = '', executionDigest = '' } = body as Record<string, string>;
    const found = (refs: unknown): { secretRef: string; value: Buffer }[] =>
      (refs as string[]).map((secretRef) => ({
        secretRef,
        value: this.secrets.get(secretRef) ?? Buffer.alloc(0),
      }));
    const bytes = writeDeliveryResponse({
      runId,
      attemptId,
      offerId,
      executionDigest,
      values: found(body.secretRefs),
      environmentBundles: found(body.environmentBundleRefs),
    });
    return {
      bytes,
      status: 200,
      headers: { 'content-type': 'application/json', 'content-length': bytes.length },
    };
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const question = questionOf(request.url ?? '', Buffer.concat(chunks));
    const behaviour = this.#overridden.get(question.operation);
    const reply = behaviour ? await behaviour(question) : this.grant(question);
    this.questions.push(question);
    send(reply, response);
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const wake of watchers) wake();
  }
}

function questionOf(url: string, bytes: Buffer): Question {
  const [, workerId = '', sessionId = '', operation = ''] =
    /^\/api\/v3\/worker-ingress\/workers\/([^/]+)\/sessions\/([^/]+)\/([a-z-]+)$/.exec(url) ?? [];
  const headerLength = operation === 'artifacts' ? bytes.readUInt32BE(0) : bytes.length;
  const start = operation === 'artifacts' ? 4 : 0;
  const json = bytes.subarray(start, start + headerLength).toString('utf8');
  const body = JSON.parse(json) as Record<string, unknown>;
  return { operation, workerId, sessionId, body, content: bytes.subarray(start + headerLength) };
}

function send(reply: Reply, response: ServerResponse): void {
  if (reply === 'silence') return;
  if (reply === 'hang up') {
    response.destroy();
    return;
  }
  if ('bytes' in reply) {
    response.writeHead(reply.status, reply.headers);
    response.end(reply.bytes);
    return;
  }
  const isRefusal = 'refuse' in reply;
  const json = JSON.stringify(isRefusal ? { code: reply.refuse, status: reply.status } : reply.json);
  response.statusCode = isRefusal ? reply.status : 200;
  response.setHeader('content-type', isRefusal ? 'application/problem+json' : 'application/json');
  response.setHeader('content-length', Buffer.byteLength(json));
  response.setHeader('x-request-id', 'request-1');
  if (isRefusal && reply.retryAfter !== undefined) response.setHeader('retry-after', reply.retryAfter);
  response.end(json);
}
