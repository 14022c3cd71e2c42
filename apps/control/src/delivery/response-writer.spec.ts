import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Response } from 'express';
import { offHeap } from '@valise/process';
import { sendDocument } from './response-writer.js';

/** Larger than the kernel's socket buffers, so that a reader who stops reading is noticed. */
const LARGE = 32 * 1024 * 1024;

let server: Server;
let client: Socket;

afterEach(async () => {
  client.destroy();
  server.close();
  await once(server, 'close');
});

async function request(): Promise<ServerResponse> {
  server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
  return response;
}

const document = (length: number): Buffer<ArrayBuffer> => offHeap(length).fill('s');
const send = (response: ServerResponse, body: Buffer<ArrayBuffer>, deadlineMs: number) =>
  sendDocument(response as Response, body, deadlineMs);
/** Nothing can be read through it any more. */
const isForgotten = (body: Buffer): boolean => body.length === 0;

describe('a delivered document', () => {
  it('arrives whole, headers first, and is forgotten once the socket has taken it', async () => {
    const response = await request();
    const body = document(64);
    const received: Buffer[] = [];
    client.on('data', (chunk: Buffer) => received.push(chunk));
    await expect(send(response, body, 5000)).resolves.toBe('sent');
    expect(isForgotten(body)).toBe(true);
    while (!Buffer.concat(received).toString().endsWith('s'.repeat(64))) await once(client, 'data');
    expect(Buffer.concat(received).toString()).toContain('content-length: 64');
  });

  it('is forgotten when the worker goes away', async () => {
    const response = await request();
    const body = document(LARGE);
    client.pause();
    const outcome = send(response, body, 60_000);
    client.destroy();
    await expect(outcome).resolves.toBe('aborted');
    expect(isForgotten(body)).toBe(true);
  });

  it('is forgotten when the worker has gone before the answer', async () => {
    const response = await request();
    const gone = once(response.socket!, 'close');
    client.destroy();
    await gone;
    const body = document(64);
    await expect(send(response, body, 60_000)).resolves.toBe('aborted');
    expect(isForgotten(body)).toBe(true);
  });

  it('is cut off and forgotten when the worker has not taken it by the deadline', async () => {
    const response = await request();
    const body = document(LARGE);
    client.pause();
    await expect(send(response, body, 1)).resolves.toBe('aborted');
    expect(isForgotten(body)).toBe(true);
  });
});
