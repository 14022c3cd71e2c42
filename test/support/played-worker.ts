import { randomUUID } from 'node:crypto';
import {
  ARTIFACT_CONTENT_TYPE,
  OfferResponse,
  readBody,
  SessionRegisterResponse,
} from '@valise/contracts/wire';
import {
  completion,
  delivery,
  fenceOf,
  type Held,
  newLeaseToken,
  renewal,
  running,
  upload,
} from './held-attempt.js';
import type { WireCaller } from './wire/wire-caller.js';
import type { Answer, WireClient } from './wire/wire-client.js';
import { newSessionId, registration, sessionPath } from './worker-session.js';

/** A worker in a session, as a test plays it over the wire. */
export class PlayedWorker {
  private constructor(
    readonly client: WireClient,
    readonly workerId: string,
    readonly sessionId: string,
    readonly generation: number,
  ) {}

  static async register(workerId: string, client: WireClient): Promise<PlayedWorker> {
    const sessionId = newSessionId();
    const path = sessionPath({ workerId, sessionId }, 'register');
    const { json } = await client.post(path, registration({ leaseDurationMs: 60_000 }));
    const { generation } = readBody(SessionRegisterResponse, json, 'control_answer_invalid');
    return new PlayedWorker(client, workerId, sessionId, generation);
  }

  /** For connections of its own making. */
  get caller(): WireCaller {
    return this.client.caller;
  }

  pathOf(operation: string): string {
    return sessionPath(this, operation);
  }

  call(operation: string, body: unknown): Promise<Answer> {
    return this.client.post(this.pathOf(operation), body);
  }

  /** Asks for an offer with an id and a token of its own, or with those given. */
  async ask(claim = { offerId: randomUUID() as string, leaseToken: newLeaseToken() }): Promise<Answer> {
    return this.call('offers', { workerGeneration: this.generation, ...claim });
  }

  /** Claims the one queued attempt, and says that it is starting. */
  async hold(): Promise<Held> {
    const leaseToken = newLeaseToken();
    const answer = await this.ask({ offerId: randomUUID(), leaseToken });
    const { offer } = readBody(OfferResponse, answer.json, 'control_answer_invalid');
    if (!offer) throw new Error('nothing was queued for this worker');
    const { workerId, sessionId, generation } = this;
    const worker = { workerId, sessionId, generation };
    const held = { worker, offer, fence: fenceOf(worker, offer, leaseToken) };
    await this.call('starting', held.fence);
    return held;
  }

  secrets(held: Held, change: Parameters<typeof delivery>[1] = {}): Promise<Answer> {
    return this.call('secrets', delivery(held, change));
  }

  renew(held: Held): Promise<Answer> {
    return this.call('lease-control', renewal(held));
  }

  running(held: Held): Promise<Answer> {
    return this.call('running', running(held));
  }

  complete(held: Held): Promise<Answer> {
    return this.call('completion', completion(held));
  }

  /** Sends the attempt's log; its header may announce another length. */
  upload(held: Held, log: Buffer, announcedBytes = log.length): Promise<Answer> {
    const header = Buffer.from(JSON.stringify(upload(held, announcedBytes)));
    const prefix = Buffer.alloc(4);
    prefix.writeUInt32BE(header.length);
    return this.client.send('POST', this.pathOf('artifacts'), Buffer.concat([prefix, header, log]), {
      'content-type': ARTIFACT_CONTENT_TYPE,
    });
  }
}
