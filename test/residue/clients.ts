import { NarrowPath, SLOW } from '../support/wire/narrow-path.js';
import type { WireCaller } from '../support/wire/wire-caller.js';
import { WireConnection } from '../support/wire/wire-connection.js';

/** Asks for one delivery after the other with `requests`, and behaves in its own way. */
export type Client = (caller: WireCaller, requests: readonly Buffer[]) => Promise<void>;

const LANES = 4;

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

/** Takes the first piece of an answer and is gone. */
async function leaving(caller: WireCaller, requests: readonly Buffer[]): Promise<void> {
  for (const request of requests) {
    const connection = await WireConnection.open(caller);
    connection.socket.write(request);
    await Promise.race([
      new Promise((resolve) => connection.socket.once('data', resolve)),
      connection.closed,
    ]);
    connection.close();
  }
}

/** Several of `client` at once, on a line so bad that control holds what it has written for a while. */
const onNarrowLine =
  (client: Client): Client =>
  async (caller, requests) => {
    const path = await NarrowPath.open(caller.port, SLOW);
    try {
      const lanes = Array.from({ length: LANES }, (_, lane) =>
        requests.filter((_, index) => index % LANES === lane),
      );
      await Promise.all(lanes.map((lane) => client({ ...caller, port: path.port }, lane)));
    } finally {
      await path.close();
    }
  };

async function asked(connection: WireConnection, request: Buffer): Promise<void> {
  const { status } = await connection.exchange(request);
  if (status !== 200) throw new Error(`a delivery of a canary was answered ${status}`);
}

export const CLIENTS: Readonly<Record<string, Client>> = {
  'keep-alive': kept,
  'a connection each': fresh,
  'slow readers': onNarrowLine(kept),
  'leave half-way': onNarrowLine(leaving),
};
