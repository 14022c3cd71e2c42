import { connect, type TLSSocket } from 'node:tls';
import { once } from 'node:events';

/** Who connects where, in PEM. */
export interface WireCaller {
  readonly port: number;
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** What came back: the status, and how long head and body were. */
export interface WireAnswer {
  readonly status: number;
  readonly head: string;
  readonly bodyBytes: number;
}

interface Waiting {
  resolve(answer: WireAnswer): void;
  reject(error: Error): void;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const DEADLINE_MS = 30_000;

/** One mutual-TLS connection that speaks HTTP/1.1 in bytes: it costs little, and may behave as badly as a test likes. */
export class WireConnection {
  #waiting: Waiting | null = null;
  #received: Buffer = Buffer.alloc(0);
  #answer: { status: number; head: string; bodyBytes: number; missing: number } | null = null;

  private constructor(readonly socket: TLSSocket) {
    socket.on('data', (chunk: Buffer) => {
      this.#take(chunk);
    });
    for (const event of ['close', 'error'] as const) {
      socket.on(event, () => {
        this.#waiting?.reject(new Error('the connection ended before its answer'));
        this.#waiting = null;
      });
    }
    socket.setTimeout(DEADLINE_MS, () => {
      socket.destroy();
    });
  }

  static async open(caller: WireCaller): Promise<WireConnection> {
    const socket = connect({ ...caller, host: '127.0.0.1', minVersion: 'TLSv1.3' }).setNoDelay(true);
    const connection = new WireConnection(socket);
    await once(socket, 'secureConnect');
    return connection;
  }

  /** Sends a whole request and takes its whole answer. */
  exchange(request: Buffer): Promise<WireAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.socket.write(request);
    });
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
      this.#answer = { status: Number(head.slice(9, 12)), head, bodyBytes, missing: bodyBytes };
      body = this.#received.subarray(end + HEAD_END.length);
      this.#received = Buffer.alloc(0);
    }
    this.#answer.missing -= body.length;
    if (this.#answer.missing > 0) return;
    const answer = this.#answer;
    this.#answer = null;
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.resolve(answer);
  }
}

/** A whole POST of a JSON body. */
export function postRequest(path: string, body: unknown, keepAlive: boolean): Buffer {
  const json = JSON.stringify(body);
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(json)}`,
    ...(keepAlive ? [] : ['connection: close']),
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${json}`);
}
