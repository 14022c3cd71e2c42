import { Agent, request as httpsRequest } from 'node:https';
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { ValiseError } from '@valise/contracts/failure';
import { readAnswer, type Answer } from './answer.js';
import type { WorkerIdentity } from './worker-identity.js';

/** SSL_OP_CLEANSE_PLAINTEXT: OpenSSL zeroes its read buffer once the plaintext was taken. */
const CLEANSE_PLAINTEXT = 2;

export interface Question {
  readonly path: string;
  readonly contentType: string;
  readonly byteLength: number;
  /** Called once per try. */
  readonly chunks: () => Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** From the first byte sent to the last byte received, in milliseconds. */
  readonly deadlineMs: number;
}

/**
 * The worker's mutual-TLS connection to control: kept alive, TLS 1.3, never resumed. Answers are bounded in size and
 * time, and leave no plaintext in transport buffers.
 */
export class IngressClient {
  #agent: Agent;
  #notAfterMs: number;

  constructor(
    private readonly control: URL,
    identity: WorkerIdentity,
  ) {
    this.#agent = agentOf(identity);
    this.#notAfterMs = identity.notAfterMs;
  }

  /**
   * @throws ValiseError control_unreachable or control_answer_invalid, without foreign text; identity_expired, and
   * nothing is sent, once the worker's certificate has ended
   */
  async exchange(question: Question): Promise<Answer> {
    if (this.#notAfterMs <= Date.now()) throw new ValiseError('identity_expired');
    try {
      return await this.#once(question);
    } catch (error) {
      // A kept-alive connection may be closed by control while we begin to use it; every question may be repeated.
      if (error instanceof StaleConnection) return await this.#once(question);
      throw error;
    }
  }

  /** Later questions are asked on new connections, with this identity; running ones finish with the old one. */
  present(identity: WorkerIdentity): void {
    const old = this.#agent;
    this.#agent = agentOf(identity);
    this.#notAfterMs = identity.notAfterMs;
    old.on('free', (socket: Socket) => socket.destroy());
    for (const socket of Object.values(old.freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy();
  }

  close(): void {
    this.#agent.destroy();
  }

  async #once({ path, contentType, byteLength, chunks, deadlineMs }: Question): Promise<Answer> {
    const request = httpsRequest({
      host: this.control.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: this.control.port === '' ? 443 : this.control.port,
      method: 'POST',
      path,
      agent: this.#agent,
      headers: { 'content-type': contentType, 'content-length': byteLength, accept: 'application/json' },
    });
    const deadline = setTimeout(() => {
      request.destroy(new ValiseError('control_unreachable', { rule: 'deadline', limit: deadlineMs }));
    }, deadlineMs);
    try {
      const answered = answerTo(request);
      // Control may answer before it has taken everything; then its answer counts, not the broken upload.
      pipeline(chunks(), request).catch(() => undefined);
      return await answered;
    } catch (error) {
      throw transportError(error, request);
    } finally {
      clearTimeout(deadline);
    }
  }
}

function agentOf(identity: WorkerIdentity): Agent {
  return new Agent({
    keepAlive: true,
    maxCachedSessions: 0,
    minVersion: 'TLSv1.3',
    secureOptions: CLEANSE_PLAINTEXT,
    cert: identity.certificate,
    key: identity.key,
    ca: identity.authority,
  });
}

class StaleConnection extends ValiseError {}

function answerTo(request: ClientRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request.on('socket', (socket) => {
      // Runs after the HTTP parser, which has copied what it needs: the decrypted record is not left behind.
      const zero = (record: Buffer): void => void record.fill(0);
      socket.on('data', zero);
      request.on('close', () => socket.off('data', zero));
    });
    const closed = (): void => {
      reject(new ValiseError('control_unreachable', { rule: 'closed' }));
    };
    request.on('error', reject);
    request.on('close', closed);
    request.on('response', (message) => {
      // From here on the message says when it is broken off.
      request.off('close', closed);
      readAnswer(message).then(resolve, reject);
    });
  });
}

function transportError(error: unknown, request: ClientRequest): ValiseError {
  if (error instanceof ValiseError) return error;
  const { code } = error as NodeJS.ErrnoException;
  const facts = typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? { errno: code } : {};
  const isStale = request.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE');
  return isStale
    ? new StaleConnection('control_unreachable', facts)
    : new ValiseError('control_unreachable', facts);
}
