import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { WireCaller } from './wire-caller.js';

/** What came back: the status, and how long head and body were. */
export interface WireAnswer {
  readonly status: number;
  readonly head: string;
  readonly bodyBytes: number;
  /** The body of a refusal; empty for whatever else. */
  readonly problem: string;
}

/** What a request became: the status of its answer, or that the connection ended without one. */
export type Outcome = number | 'closed';

interface Waiting {
  resolve(answer: WireAnswer): void;
  reject(error: Error): void;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const DEADLINE_MS = 30_000;

/** One mutual-TLS connection that speaks HTTP/1.1 in bytes: it costs little, and may behave as badly as a test likes. */
export class WireConnection {
  readonly closed: Promise<void>;
  readonly #handshake: Promise<void>;
  #error: Error | null = null;
  #waiting: Waiting | null = null;
  #received: Buffer = Buffer.alloc(0);
  #answer: { status: number; head: string; bodyBytes: number; problem: string; missing: number } | null =
    null;

  private constructor(readonly socket: TLSSocket) {
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#waiting?.reject(new Error('the connection ended before its answer'));
        this.#waiting = null;
        resolve();
      });
    });
    this.#handshake = new Promise((resolve) => {
      socket.once('secureConnect', resolve);
    });
    socket.on('error', (error: Error) => {
      this.#error ??= error;
    });
    socket.on('data', (chunk: Buffer) => {
      this.#take(chunk);
    });
    socket.setTimeout(DEADLINE_MS, () => {
      socket.destroy();
    });
  }

  /** A connection whose handshake is done on this side; in TLS 1.3 the server may still refuse it. */
  static async open(caller: WireCaller, options: ConnectionOptions = {}): Promise<WireConnection> {
    const connection = await WireConnection.attempt(caller, options);
    if (!connection.isOpen) throw connection.#error ?? new Error('the connection was refused');
    return connection;
  }

  /** The same; one that did not come about is closed. */
  static async attempt(caller: WireCaller, options: ConnectionOptions = {}): Promise<WireConnection> {
    const connection = new WireConnection(
      connect({ ...caller, host: '127.0.0.1', ...options }).setNoDelay(true),
    );
    await Promise.race([connection.#handshake, connection.closed]);
    return connection;
  }

  get isOpen(): boolean {
    return !this.socket.destroyed;
  }

  /** Sends a whole request, or what is left out of it, and takes a whole answer. */
  exchange(request: Buffer | string): Promise<WireAnswer> {
    return new Promise((resolve, reject) => {
      if (!this.isOpen) {
        reject(new Error('the connection has ended'));
        return;
      }
      this.#waiting = { resolve, reject };
      this.socket.write(request);
    });
  }

  /** Sends a GET, or whatever is given. */
  ask(request: Buffer | string = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'): Promise<Outcome> {
    return this.exchange(request).then(
      ({ status }) => status,
      () => 'closed',
    );
  }

  close(): void {
    this.socket.destroy();
  }

  #take(chunk: Buffer): void {
    let body = chunk;
    if (!this.#answer) {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      const end = this.#received.indexOf(HEAD_END);
      if (end < 0) return;
      const head = this.#received.toString('latin1', 0, end);
      const bodyBytes = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
      this.#answer = { status: Number(head.slice(9, 12)), head, bodyBytes, problem: '', missing: bodyBytes };
      body = this.#received.subarray(end + HEAD_END.length);
      this.#received = Buffer.alloc(0);
    }
    this.#answer.missing -= body.length;
    if (this.#answer.status >= 400) this.#answer.problem += body.toString('latin1');
    if (this.#answer.missing > 0) return;
    const answer = this.#answer;
    this.#answer = null;
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.resolve(answer);
  }
}
