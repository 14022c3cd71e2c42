import type { TLSSocket } from 'node:tls';
import type { WireCaller } from '../support/wire/wire-caller.js';
import { WireConnection } from '../support/wire/wire-connection.js';

const PATIENCE_MS = 100;
const DEADLINE_MS = 10_000;

/** Sends bytes, whatever they are, and hears what comes back until there is a whole answer or the connection ends. */
export class HostileConnection {
  private socket: TLSSocket | null = null;

  constructor(private readonly caller: WireCaller) {}

  /** Everything that control says to the bytes; it says nothing to what is no whole request, until we end. */
  async exchange(bytes: Buffer): Promise<string> {
    const socket = await this.open();
    let received = '';
    const ended = new Promise<void>((resolve, reject) => {
      const patience = setTimeout(() => socket.end(), PATIENCE_MS);
      const deadline = setTimeout(() => {
        reject(new Error(`a connection did not end\n${bytes.toString('latin1').slice(0, 500)}`));
      }, DEADLINE_MS);
      const finish = (): void => {
        clearTimeout(patience);
        clearTimeout(deadline);
        socket.off('data', take).off('close', finish);
        resolve();
      };
      const take = (chunk: Buffer): void => {
        received += chunk.toString('latin1');
        if (isWhole(received)) finish();
      };
      socket.on('data', take).on('close', finish);
    });
    socket.write(bytes);
    await ended;
    if (socket.writableEnded || /^connection: close$/im.test(received)) this.close();
    return received;
  }

  close(): void {
    this.socket?.destroy();
    this.socket = null;
  }

  private async open(): Promise<TLSSocket> {
    if (this.socket && !this.socket.destroyed) return this.socket;
    const { socket } = await WireConnection.open(this.caller);
    this.socket = socket;
    return socket;
  }
}

function isWhole(received: string): boolean {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0 || received.startsWith('HTTP/1.1 100')) return false;
  const length = /^content-length: (\d+)/im.exec(received.slice(0, end))?.[1];
  return length !== undefined && received.length >= end + 4 + Number(length);
}
