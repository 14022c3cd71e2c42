import { Controller, Get, Module, Post, Req, Res } from '@nestjs/common';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import type { Request, Response } from 'express';
import { pino } from 'pino';
import { QueryFailedError } from 'typeorm';
import { describeError, ValiseError } from '@valise/contracts/failure';
import { Metrics } from '../metrics/metrics.js';
import { Drain } from './drain.js';
import { createListener, listen, type Listener } from './listener.js';
import { ListenerCodes } from './listener-codes.js';

const CANARY = 'hunter2-canary';

/** What runtimes, drivers and parsers really throw: each quotes its input. */
const FOREIGN: Record<string, () => never> = {
  parse: () => JSON.parse(`{"a":"${CANARY}`) as never,
  query: () => {
    const driver = Object.assign(new Error(`duplicate key (${CANARY})`), {
      code: '23505',
      detail: `Key (x)=(${CANARY})`,
    });
    throw new QueryFailedError(`INSERT ${CANARY}`, [CANARY], driver);
  },
  cause: () => {
    throw new Error(CANARY, { cause: new TypeError(CANARY) });
  },
  text: () => {
    throw CANARY as unknown as Error;
  },
};

@Controller()
class Failing {
  @Get('foreign/:name')
  foreign(@Req() request: Request): never {
    return FOREIGN[String(request.params.name)]!();
  }

  @Get('fine')
  fine(): object {
    return {};
  }

  @Post('silent')
  silent(): Promise<never> {
    return new Promise(() => undefined);
  }

  @Post('begun')
  begun(@Res() response: Response): void {
    response.setHeader('content-length', 1000).write('begun');
  }

  @Get('known')
  known(): never {
    throw new ValiseError('rate_limited', { retryAfterMs: 2500 });
  }
}

@Module({ controllers: [Failing] })
class FailingModule {}

let listener: Listener;
let origin: string;
const lines: string[] = [];

beforeAll(async () => {
  const sink = new Writable({
    write: (chunk: Buffer, _, done) => {
      lines.push(chunk.toString());
      done();
    },
  });
  const log = pino({ serializers: { err: describeError } }, sink);
  listener = await createListener(FailingModule, {
    listener: 'plain',
    log,
    metrics: new Metrics(),
    drain: new Drain(),
    codes: ListenerCodes.MANAGEMENT,
    maxConnections: 16,
    mutualTls: null,
  });
  origin = `http://127.0.0.1:${await listen(listener, { host: '127.0.0.1', port: 0 })}`;
});

afterAll(() => listener.application.close());

describe('a failure', () => {
  it.each(Object.keys(FOREIGN))(
    'of foreign make (%s) is an internal error that quotes nothing, in answer and log',
    async (name) => {
      const response = await fetch(`${origin}/foreign/${name}`);
      const body = await response.text();
      expect([response.status, (JSON.parse(body) as { code: string }).code]).toEqual([500, 'internal_error']);
      expect(body).not.toContain(CANARY);
      expect(lines.join('')).not.toContain(CANARY);
    },
  );

  it('of ours is a problem with its code, its facts and the time to wait', async () => {
    const response = await fetch(`${origin}/known`);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(response.headers.get('retry-after')).toBe('3');
    expect(await response.json()).toMatchObject({
      status: 429,
      code: 'rate_limited',
      facts: { retryAfterMs: 2500 },
      requestId: response.headers.get('x-request-id'),
    });
  });

  it.each(['/nowhere', '/%E0%A4%A', `/nowhere?token=${CANARY}`])(
    'of a path (%s) does not quote it',
    async (path) => {
      const response = await fetch(origin + path);
      expect([400, 404]).toContain(response.status);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.has('etag')).toBe(false);
      expect(await response.text()).not.toContain(CANARY);
      expect(lines.join('')).not.toContain(CANARY);
    },
  );

  it.each([
    ['no HTTP', 'hello\r\n\r\n', 400, 'invalid_request'],
    [
      'a header past its limit',
      `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
      413,
      'request_too_large',
    ],
    [
      'an unknown expectation',
      'GET /known HTTP/1.1\r\nHost: x\r\nExpect: y\r\nConnection: close\r\n\r\n',
      429,
      'rate_limited',
    ],
    [
      'a body that is none',
      'POST /silent HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n',
      400,
      'invalid_request',
    ],
  ])('of %s has its code and the protective headers', async (_, request, status, code) => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    socket.write(request);
    const chunks = await socket.toArray();
    const answer = Buffer.concat(chunks as Buffer[])
      .toString()
      .toLowerCase();
    expect(answer).toMatch(new RegExp(`^http/1.1 ${status} `));
    expect(answer).toContain(`"code":"${code}"`);
    for (const header of ['cache-control: no-store', 'x-content-type-options: nosniff', 'x-request-id: ']) {
      expect(answer).toContain(header);
    }
  });

  it.each([
    ['to come', 'silent', ''],
    ['on its way', 'begun', 'begun'],
  ])('behind a request whose answer is %s does not take its place', async (_, route, answer) => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    socket.write(`POST /${route} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`);
    const begun = answer ? ((await once(socket, 'data')) as [Buffer])[0].toString() : '';
    expect(begun.split('\r\n\r\n').at(-1)).toBe(answer);
    socket.write('hello\r\n\r\n');
    expect(Buffer.concat((await socket.toArray()) as Buffer[]).toString()).toBe('');
  });

  it('is none when a route is asked for its headers only', async () => {
    const response = await fetch(`${origin}/fine`, { method: 'HEAD' });
    expect(response.status).toBe(200);
  });
});
