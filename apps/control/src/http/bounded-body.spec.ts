import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { ValiseError } from '@valise/contracts/failure';
import { readBoundedBody } from './bounded-body.js';

let server: Server;
let client: Socket;

async function request(head: string, body: string): Promise<IncomingMessage> {
  server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write(`POST / HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n${body}`);
  const [incoming] = (await once(server, 'request')) as [IncomingMessage];
  return incoming;
}

afterEach(async () => {
  client.destroy();
  server.close();
  await once(server, 'close');
});

const codeOf = (read: Promise<unknown>): Promise<unknown> =>
  read.then(
    () => null,
    (error: unknown) => (error instanceof ValiseError ? error.code : error),
  );

describe('a bounded body', () => {
  it('is read whole at its limit, with a declared length or in chunks', async () => {
    const declared = await request('Content-Length: 4', 'abcd');
    expect((await readBoundedBody(declared, 4, 5000)).toString()).toBe('abcd');
    client.destroy();
    server.close();
    const chunked = await request('Transfer-Encoding: chunked', '2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n');
    expect((await readBoundedBody(chunked, 4, 5000)).toString()).toBe('abcd');
  });

  it('is refused one byte past its limit, whether it declares that or not', async () => {
    expect(await codeOf(readBoundedBody(await request('Content-Length: 5', 'abcde'), 4, 5000))).toBe(
      'request_too_large',
    );
    client.destroy();
    server.close();
    const chunked = await request('Transfer-Encoding: chunked', '5\r\nabcde\r\n0\r\n\r\n');
    expect(await codeOf(readBoundedBody(chunked, 4, 5000))).toBe('request_too_large');
  });

  it('is refused when it does not come within its deadline', async () => {
    expect(await codeOf(readBoundedBody(await request('Content-Length: 4', 'ab'), 4, 1))).toBe(
      'request_timeout',
    );
  });

  it('is refused when the client leaves half-way', async () => {
    const reading = readBoundedBody(await request('Content-Length: 4', 'ab'), 4, 60_000);
    client.destroy();
    expect(await codeOf(reading)).toBe('request_timeout');
  });
});
