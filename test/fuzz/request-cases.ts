import fc, { type Arbitrary } from 'fast-check';

/** What no answer, log or metric may hold: it stands in every place of a request that takes text. */
export const CANARY = 'hunter2-canary';

/** Bytes for one connection, and the listener that gets them. */
export interface RequestCase {
  readonly listener: 'ingress' | 'management';
  readonly bytes: Buffer;
}

/** Where a case is sent, and what a well-formed request to it holds. */
export interface Target {
  readonly listener: 'ingress' | 'management';
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

const CRLF = '\r\n';

const text = fc.constantFrom(
  CANARY,
  '',
  '\u0000',
  '💥',
  '\\ud800',
  'x'.repeat(5000),
  '../..',
  '%E0%A4%A',
  "';--",
);

const json: Arbitrary<string> = fc.oneof(
  fc.json({ maxDepth: 4 }),
  text.map((each) => JSON.stringify({ [each]: each, attemptId: each, runId: CANARY })),
  fc.integer({ min: 1, max: 3000 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  fc.constantFrom(
    'null',
    '{"a":1,"a":2}',
    '\ufeff{}',
    '{"__proto__":{}}',
    `{"a":"${CANARY}`,
    '1e999',
    '"\\ud800"',
    '',
  ),
);

/** A well-formed body with a member changed, a piece cut out, or a byte turned. */
const changed = (body: string): Arbitrary<string> =>
  fc.oneof(
    fc.constant(body),
    fc.nat(body.length).map((end) => body.slice(0, end)),
    fc.tuple(fc.nat(body.length), fc.integer({ min: 0, max: 0x2fff })).map(([at, code]) => {
      return body.slice(0, at) + String.fromCharCode(code) + body.slice(at + 1);
    }),
    fc
      .tuple(fc.nat(), fc.constantFrom('null', '-1', '1e999', '[]', '{}', 'true', `"${CANARY}"`))
      .map(([which, value]) => replaceMember(body, which, value)),
  );

/** The text with the value of one of its members replaced. */
function replaceMember(body: string, which: number, value: string): string {
  const members = [...body.matchAll(/"\w+":("[^"]*"|[\w.-]+)/g)];
  const member = members[which % Math.max(1, members.length)];
  if (!member) return body;
  const at = member.index + member[0].length - String(member[1]).length;
  return body.slice(0, at) + value + body.slice(at + String(member[1]).length);
}

const header: Arbitrary<string> = fc.oneof(
  {
    weight: 40,
    arbitrary: fc.constantFrom('accept: */*', `authorization: Worker ${CANARY}`, `cookie: ${CANARY}`),
  },
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      'content-encoding: gzip',
      'expect: 100-continue',
      `expect: ${CANARY}`,
      'connection: close',
      'connection: upgrade',
      'upgrade: websocket',
      'transfer-encoding: chunked',
      `transfer-encoding: ${CANARY}`,
      'content-length: 5',
      'content-length: -1',
      'content-length: 99999999999999999999',
      'host: other',
      `x-forwarded-for: ${CANARY}`,
      `x-request-id: ${CANARY}`,
      `content-type: ${CANARY}`,
      'content-type: application/json; charset=utf-16',
      `${CANARY}: ${CANARY}`,
      `traceparent: ${CANARY}`,
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(`x: ${'y'.repeat(20_000)}`, 'no colon', ' folded', 'x: \u0001', ': empty'),
  },
);

/** A request as a client that means no good would write it. */
function written(target: Target): Arbitrary<Buffer> {
  return fc
    .record({
      method: fc.oneof(
        { weight: 20, arbitrary: fc.constant(target.method) },
        {
          weight: 1,
          arbitrary: fc.constantFrom('GET', 'PUT', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE', 'PATCH', 'FOO'),
        },
      ),
      path: fc.oneof(
        { weight: 20, arbitrary: fc.constant(target.path) },
        { weight: 1, arbitrary: text.map((each) => `${target.path}/${encodeURIComponent(each)}`) },
        { weight: 1, arbitrary: text.map((each) => `${target.path}?q=${each.replace(/[^!-~]/g, '')}`) },
        {
          weight: 1,
          arbitrary: fc.constantFrom('/', '*', '//', `/${CANARY}`, '/%00', '/%E0%A4%A', 'http://x/'),
        },
      ),
      version: fc.oneof(
        { weight: 40, arbitrary: fc.constant('HTTP/1.1') },
        { weight: 1, arbitrary: fc.constantFrom('HTTP/1.0', 'HTTP/2', CANARY) },
      ),
      headers: fc.array(header, { maxLength: 3 }),
      body: fc.oneof({ weight: 3, arbitrary: changed(target.body) }, { weight: 1, arbitrary: json }),
    })
    .map(({ method, path, version, headers, body }) => {
      const bytes = Buffer.from(body);
      const own = ['host: control', 'content-type: application/json', `content-length: ${bytes.length}`];
      // A header of the case stands in for ours: two of a kind are a case of their own, and seldom enough.
      const names = new Set(headers.map((each) => each.split(':')[0]));
      const kept = own.filter((each) => !names.has(each.split(':')[0] ?? '') || bytes.length % 7 === 0);
      const head = [`${method} ${path} ${version}`, ...kept, ...headers].join(CRLF);
      return Buffer.concat([Buffer.from(`${head}${CRLF}${CRLF}`, 'latin1'), bytes]);
    });
}

const noise: Arbitrary<Buffer> = fc.oneof(
  fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom(
      `GET /${CANARY}`,
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      `CONNECT ${CANARY}:1 HTTP/1.1\r\nhost: x\r\n\r\n`,
      `POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${CANARY}\r\n`,
      'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffffff\r\n',
      '\r\n\r\n\r\n',
    )
    .map((each) => Buffer.from(each)),
);

/** The same seed, the same cases. */
export function requestCases(targets: readonly Target[], count: number, seed: number): RequestCase[] {
  const each = fc.oneof(
    ...targets.map((target) => ({
      weight: 4,
      arbitrary: written(target).map((bytes) => ({ listener: target.listener, bytes })),
    })),
    ...(['ingress', 'management'] as const).map((listener) => ({
      weight: 1,
      arbitrary: noise.map((bytes) => ({ listener, bytes })),
    })),
  );
  return fc.sample(each, { numRuns: count, seed });
}
