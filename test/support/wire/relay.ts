import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Where connections lead; on this machine unless a host is named. */
export interface Target {
  readonly port: number;
  readonly host?: string;
}

/** How the bytes of one connection go on between its client, who is near, and the server, who is far. */
export type Passage = (near: Socket, far: Socket) => void;

/** All that comes, as it comes. */
export const pipeBoth: Passage = (near, far) => {
  near.pipe(far);
  far.pipe(near);
};

/** An address of this machine whose connections lead on to another one. */
export class Relay {
  readonly #sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private target: Target,
    private readonly passage: Passage,
  ) {}

  static async open(target: Target, passage: Passage = pipeBoth): Promise<Relay> {
    const server = createServer({ noDelay: true });
    const relay = new Relay(server, target, passage);
    server.on('connection', (near) => {
      relay.#join(near);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return relay;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** New connections lead there; those that are open stay where they are. */
  pointTo(target: Target): void {
    this.target = target;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** One end takes the other one along. */
  #join(near: Socket): void {
    const far = connect({ host: '127.0.0.1', noDelay: true, ...this.target });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    this.passage(near, far);
  }
}
