import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';

/** What becomes of one upload: it is cut after so many bytes of its connection, or its answer is. */
export type Cut = number | 'answer';

/** No question but an upload is so long, on a connection that is used for a test only. In bytes. */
export const LONGER_THAN_QUESTIONS = 128 * 1024;

/** Stands before control, and cuts the connections of uploads: each cut is made once, in their order. */
export class CuttingProxy {
  /** What was passed on to control in all. */
  bytes = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly target: number,
    /** Those that were not made yet. */
    readonly cuts: Cut[],
  ) {}

  static async open(target: number, cuts: readonly Cut[]): Promise<CuttingProxy> {
    const server = createServer();
    const proxy = new CuttingProxy(server, target, [...cuts]);
    server.on('connection', (socket) => {
      proxy.pass(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private pass(near: Socket): void {
    const far = connect(this.target, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
    }
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
