import { once } from 'node:events';
import { connect } from 'node:tls';
import { WireConnection, type WireCaller } from '../support/wire-connection.js';

/** Asks for one delivery after the other with `requests`, and behaves in its own way. */
export type Client = (caller: WireCaller, requests: readonly Buffer[]) => Promise<void>;

const SLOW_MS = 20;

/** All of them over one connection. */
async function kept(caller: WireCaller, requests: readonly Buffer[]): Promise<void> {
  const connection = await WireConnection.open(caller);
  for (const request of requests) await asked(connection, request);
  connection.close();
}

/** Each over a connection of its own. */
async function fresh(caller: WireCaller, requests: readonly Buffer[]): Promise<void> {
  for (const request of requests) {
    const connection = await WireConnection.open(caller);
    await asked(connection, request);
    connection.close();
  }
}

/** Waits before it takes the next piece of an answer. */
async function slow(caller: WireCaller, requests: readonly Buffer[]): Promise<void> {
  const connection = await WireConnection.open(caller);
  connection.socket.on('data', () => {
    connection.socket.pause();
    setTimeout(() => connection.socket.resume(), SLOW_MS);
  });
  for (const request of requests) await asked(connection, request);
  connection.close();
}

/** Takes the first piece of an answer and is gone. */
async function leaving(caller: WireCaller, requests: readonly Buffer[]): Promise<void> {
  for (const request of requests) {
    const socket = connect({ ...caller, host: '127.0.0.1', minVersion: 'TLSv1.3' });
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    socket.write(request);
    await once(socket, 'data');
    socket.destroy();
  }
}

async function asked(connection: WireConnection, request: Buffer): Promise<void> {
  const { status } = await connection.exchange(request);
  if (status !== 200) throw new Error(`a delivery of a canary was answered ${status}`);
}

export const CLIENTS: Readonly<Record<string, Client>> = {
  'keep-alive': kept,
  'a connection each': fresh,
  'slow reader': slow,
  'leaves half-way': leaving,
};
