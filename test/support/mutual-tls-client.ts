import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { IdentityFiles } from '../../apps/cli/src/management/management-client.js';

const DEADLINE_MS = 20_000;

/** What a request became: the status of its answer, or that the connection ended without one. */
export type Outcome = number | 'closed';

/** One mutual-TLS connection whose life the test follows. */
export class MutualTlsClient {
  readonly closed: Promise<void>;
  private received = '';
  private answered: (outcome: Outcome) => void = () => undefined;

  private constructor(readonly socket: TLSSocket) {
    socket.setTimeout(DEADLINE_MS, () => socket.destroy());
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        resolve();
        this.answered('closed');
      });
    });
    socket.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1');
      const [head, body = ''] = this.received.split('\r\n\r\n', 2);
      const length = Number(/^content-length: (\d+)/im.exec(head ?? '')?.[1] ?? Number.NaN);
      if (!(body.length >= length)) return;
      this.received = '';
      this.answered(Number(head?.slice(9, 12)));
    });
  }

  /** A connection whose handshake is done on this side; in TLS 1.3 the server may still refuse it. */
  static async open(
    port: number,
    caFile: string,
    identity: IdentityFiles | null,
    options: ConnectionOptions = {},
  ): Promise<MutualTlsClient> {
    const socket = connect({
      port,
      host: '127.0.0.1',
      ca: readFileSync(caFile),
      ...(identity && { cert: readFileSync(identity.certificateFile), key: readFileSync(identity.keyFile) }),
      ...options,
    });
    const client = new MutualTlsClient(socket);
    await Promise.race([once(socket, 'secureConnect').catch(() => undefined), client.closed]);
    return client;
  }

  get isOpen(): boolean {
    return !this.socket.destroyed;
  }

  /** Sends a GET, or whatever is given. */
  ask(request = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'): Promise<Outcome> {
    if (!this.isOpen) return Promise.resolve('closed');
    return new Promise((resolve) => {
      this.answered = resolve;
      this.socket.write(request);
    });
  }

  async close(): Promise<void> {
    this.socket.destroy();
    await this.closed;
  }
}
