import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { parseSpiffeId } from '@valise/contracts/documents';

/** The open connections of one listener: at most `limit`, a quarter of them one caller's. */
export class Connections {
  /** Closed at once since the start: the listener had too many, or the caller. */
  readonly refused = { listener: 0, caller: 0 };
  private readonly sockets = new Set<Socket>();
  /** Past their handshake, and those of them that a request is on, with its answer. */
  private readonly secure = new Set<Socket>();
  private readonly busy = new Map<Duplex, ServerResponse>();
  private isEnding = false;
  private readonly perCaller = new Map<string, number>();
  private readonly limitPerCaller: number;

  constructor(server: Server, limit: number) {
    this.limitPerCaller = Math.ceil(limit / 4);
    server.maxConnections = limit;
    server.on('drop', () => {
      this.refused.listener += 1;
    });
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    server.on('secureConnection', (socket: TLSSocket) => {
      this.welcome(socket);
    });
    server.on('request', ({ socket }, response) => {
      this.busy.set(socket, response);
      response.once('close', () => this.busy.delete(socket));
    });
  }

  get open(): number {
    return this.sockets.size;
  }

  /** Whether the next answer on the connection is owed to a request that is whole, or has begun. */
  isAnswering(socket: Duplex): boolean {
    const response = this.busy.get(socket);
    return response !== undefined && (response.req.complete || response.headersSent);
  }

  /** Closes those that no request is on, and whatever comes from now on. */
  end(): void {
    this.isEnding = true;
    for (const socket of this.secure) if (!this.busy.has(socket)) socket.destroy();
  }

  /** Cuts all of them, those in the middle of their handshake too. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** Silent connections cost memory and descriptors, whoever owns them. */
  private welcome(socket: TLSSocket): void {
    if (this.isEnding) {
      socket.destroy();
      return;
    }
    const id = parseSpiffeId(socket.getPeerX509Certificate()?.subjectAltName);
    const caller = id ? `${id.kind} ${id.id}` : 'nobody';
    const open = this.perCaller.get(caller) ?? 0;
    if (open >= this.limitPerCaller) {
      this.refused.caller += 1;
      socket.destroy();
      return;
    }
    this.perCaller.set(caller, open + 1);
    this.secure.add(socket);
    socket.once('close', () => {
      this.secure.delete(socket);
      const left = (this.perCaller.get(caller) ?? 1) - 1;
      if (left > 0) this.perCaller.set(caller, left);
      else this.perCaller.delete(caller);
    });
  }
}
