import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';

/** One address for whatever server is the right one now, as a virtual address or a proxy is in front of a cluster. */
export class Gateway {
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private target: number,
  ) {}

  static async open(target: number): Promise<Gateway> {
    const server = createServer();
    const gateway = new Gateway(server, target);
    server.on('connection', (socket) => {
      gateway.pass(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return gateway;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** New connections go there; those that are open stay where they are. */
  pointTo(target: number): void {
    this.target = target;
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
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }
}
