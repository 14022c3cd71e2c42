import { Agent, request } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';
import type { WireCaller } from './wire-caller.js';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON, whatever it is. */
  readonly json: Record<string, unknown>;
}

/** A caller of control over real mutual TLS, which may say anything. */
export class WireClient {
  private readonly agent: Agent;

  constructor(readonly caller: WireCaller) {
    const { ca, cert, key } = caller;
    this.agent = new Agent({ keepAlive: true, ca, cert, key });
  }

  /** A POST of a JSON body. */
  post(path: string, body: unknown): Promise<Answer> {
    return this.send('POST', path, Buffer.from(JSON.stringify(body)), { 'content-type': 'application/json' });
  }

  send(
    method: string,
    path: string,
    body: Buffer | null,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.caller.port, method, path, agent: this.agent };
      const call = request(
        { ...options, headers: { ...headers, ...(body && { 'content-length': body.length }) } },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('error', reject);
          answer.on('end', () => {
            const text = Buffer.concat(chunks).toString();
            resolve({
              status: answer.statusCode ?? 0,
              headers: answer.headers,
              text,
              get json() {
                return JSON.parse(text) as Record<string, unknown>;
              },
            });
          });
        },
      );
      call.on('error', reject);
      call.end(body ?? undefined);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}
