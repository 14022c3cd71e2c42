import type { Socket } from 'node:net';
import { Relay } from '../support/wire/relay.js';

/** What becomes of one upload: it is cut after so many bytes of its connection, or its answer is. */
export type Cut = number | 'answer';

/** No question but an upload is so long, on a connection that is used for a test only. In bytes. */
export const LONGER_THAN_QUESTIONS = 128 * 1024;

/** Stands before control, and cuts the connections of uploads: each cut is made once, in their order. */
export class CuttingProxy {
  /** What was passed on to control in all. */
  bytes = 0;
  private relay: Relay;

  /** `cuts` are those that were not made yet. */
  private constructor(readonly cuts: Cut[]) {}

  static async open(target: number, cuts: readonly Cut[]): Promise<CuttingProxy> {
    const proxy = new CuttingProxy([...cuts]);
    proxy.relay = await Relay.open({ port: target }, (near, far) => {
      proxy.pass(near, far);
    });
    return proxy;
  }

  get url(): string {
    return `https://127.0.0.1:${this.relay.port}`;
  }

  close(): Promise<void> {
    return this.relay.close();
  }

  private pass(near: Socket, far: Socket): void {
    let sent = 0;
    let cut: Cut | undefined;
    near.on('data', (bytes: Buffer) => {
      sent += bytes.length;
      if (sent > LONGER_THAN_QUESTIONS) cut ??= this.cuts.shift();
      const tooMuch = typeof cut === 'number' ? Math.max(0, sent - cut) : 0;
      const passed = bytes.subarray(0, Math.max(0, bytes.length - tooMuch));
      this.bytes += passed.length;
      near.pause();
      far.write(passed, () => (tooMuch > 0 ? far.destroy() : near.resume()));
    });
    far.on('data', (bytes: Buffer) => {
      if (cut === 'answer') far.destroy();
      else near.write(bytes);
    });
  }
}
