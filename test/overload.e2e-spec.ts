import { once } from 'node:events';
import { ARTIFACT_CONTENT_TYPE, SESSION_HEARTBEAT_SCHEMA } from '@valise/contracts/wire';
import { useDeployment } from './support/deployment.js';
import type { PlayedWorker } from './support/played-worker.js';
import { useDatabase } from './support/postgres.js';
import { logged } from './support/programs.js';
import { PlainAddress } from './support/wire/plain-address.js';
import type { WireCaller } from './support/wire/wire-caller.js';
import { type WireAnswer, WireConnection } from './support/wire/wire-connection.js';
import { post, postJson } from './support/wire/wire-request.js';

/** One caller's calls in the house at once, and its connections where 720 are allowed in all. */
const PLACES = 128;
const CONNECTIONS = 180;
const TOO_MANY = 32;

const database = useDatabase();
const deployment = useDeployment(database, {
  VALISE_INGRESS_DATABASE_CONNECTIONS: '4',
  VALISE_MAX_CONNECTIONS: String(4 * CONNECTIONS),
  VALISE_DRAIN_DELAY_MS: '300',
});

const plain = (): PlainAddress => new PlainAddress(deployment().ports.plain);

const connections = (caller: WireCaller, count: number): Promise<WireConnection[]> =>
  Promise.all(Array.from({ length: count }, () => WireConnection.open(caller)));

function heartbeat(worker: PlayedWorker): Buffer {
  return postJson(worker.pathOf('heartbeat'), {
    schema: SESSION_HEARTBEAT_SCHEMA,
    generation: worker.generation,
    expectedVersion: 0,
    availableSlots: 1,
    leaseDurationMs: 60_000,
  });
}

/** The head of an upload of so many bytes, with those of them that come. */
function upload(worker: PlayedWorker, length: number, body: string): string {
  return post(worker.pathOf('artifacts'), { type: ARTIFACT_CONTENT_TYPE, length }, body);
}

const codeOf = (problem: string): unknown => (JSON.parse(problem) as { code: unknown }).code;

/** Another transaction that has the worker's session: its calls hang until the answer is called. */
const holdSession = ({ workerId }: PlayedWorker): Promise<() => Promise<void>> =>
  database().hold('SELECT FROM worker_sessions WHERE worker_id = $1 FOR UPDATE', [workerId]);

describe('a worker with more calls than its share', () => {
  let many: PlayedWorker;
  let other: PlayedWorker;
  let open: WireConnection[];
  let answers: Promise<WireAnswer[]>;
  let release: () => Promise<void>;

  beforeAll(async () => {
    many = await deployment().playedWorker('many');
    other = await deployment().playedWorker('other');
    open = await connections(many.caller, PLACES + TOO_MANY);
    release = await holdSession(many);
    answers = Promise.all(open.map((connection) => connection.exchange(heartbeat(many))));
    await plain().until(
      'valise_admission_refused_total{listener="ingress",kind="call",reason="caller"}',
      TOO_MANY,
    );
  }, 60_000);

  afterAll(() => {
    for (const connection of open) connection.close();
    other.client.close();
    many.client.close();
  });

  it('stalls nobody else, while all that it may have at work hangs', async () => {
    const connection = await WireConnection.open(other.caller);
    for (let count = 0; count < 10; count += 1) {
      // One whose turn does not come before what hangs has ended is told 503.
      expect((await connection.exchange(heartbeat(other))).status).toBe(200);
    }
    connection.close();
  });

  it('keeps neither readiness nor metrics waiting', async () => {
    expect((await plain().get('/readyz')).status).toBe(200);
    expect(await plain().metric('valise_admission_running{listener="ingress",kind="call"}')).toBe(2);
  });

  it('is told to come later for what is too much, and gets an answer to each of them', async () => {
    await release();
    const all = await answers;
    const refused = all.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(TOO_MANY);
    for (const { problem } of refused) expect(codeOf(problem)).toBe('rate_limited');
    for (const { status, head } of all) {
      // A turn that came too late is told so too.
      expect([200, 429, 503]).toContain(status);
      if (status !== 200) expect(head).toMatch(/^retry-after: 1$/im);
      expect(head).not.toMatch(/^connection: close$/im);
    }
  });

  it('gets its connections back to work at once afterwards', async () => {
    expect((await open[0]!.exchange(heartbeat(many))).status).toBe(200);
    expect((await open.at(-1)!.exchange(heartbeat(many))).status).toBe(200);
    await plain().until('valise_admission_waiting{listener="ingress",kind="call"}', 0);
  });

  it('gets a quarter of the connections, and others connect', async () => {
    const more = await connections(many.caller, CONNECTIONS - open.length + 5);
    open.push(...more);
    await plain().until('valise_connections_refused_total{listener="ingress",reason="caller"}', 5);
    const connection = await WireConnection.open(other.caller);
    expect((await connection.exchange(heartbeat(other))).status).toBe(200);
    connection.close();
  });

  it('gets no answer to a request that it sends before the last one is answered', async () => {
    const connection = await WireConnection.open(other.caller);
    const both = Buffer.concat([heartbeat(other), heartbeat(other)]);
    await expect(connection.exchange(both)).rejects.toThrow('ended before its answer');
    await plain().until('valise_admission_waiting{listener="ingress",kind="call"}', 0);
  });
});

describe('uploads that take every place', () => {
  const CALLERS = 6;
  /** One caller's transfers in the house at once, of which so many have their turn. */
  const TRANSFERS = 16;
  const TURNS = 4;
  let uploaders: PlayedWorker[];
  let open: WireConnection[];
  let next: PlayedWorker;

  beforeAll(async () => {
    uploaders = await Promise.all(
      Array.from({ length: CALLERS }, (_, index) => deployment().playedWorker(`uploader-${index}`)),
    );
    next = await deployment().playedWorker('next');
    const each = await Promise.all(uploaders.map(({ caller }) => connections(caller, TRANSFERS)));
    open = each.flat();
    for (const [index, some] of each.entries())
      for (const connection of some) connection.socket.write(upload(uploaders[index]!, 1000, ''));
    await plain().until('valise_admission_running{listener="ingress",kind="transfer"}', CALLERS * TURNS);
    await plain().until(
      'valise_admission_waiting{listener="ingress",kind="transfer"}',
      CALLERS * (TRANSFERS - TURNS),
    );
  }, 60_000);

  afterAll(async () => {
    for (const connection of open) connection.close();
    for (const { client } of [...uploaders, next]) client.close();
    await plain().until('valise_admission_waiting{listener="ingress",kind="transfer"}', 0);
  });

  it('leave none for anybody’s next: it is told to come again, on a connection that goes on', async () => {
    const connection = await WireConnection.open(next.caller);
    const { status, head, problem } = await connection.exchange(upload(next, 2, 'no'));
    expect([status, codeOf(problem)]).toEqual([503, 'worker_ingress_unavailable']);
    expect(head).toMatch(/^content-type: application\/problem\+json$/im);
    expect(head).toMatch(/^retry-after: 1$/im);
    expect(head).not.toMatch(/^connection: close$/im);
    expect((await connection.exchange(heartbeat(next))).status).toBe(200);
    connection.close();
  });

  it('are too many for a caller that has its share: it is told that it is the one', async () => {
    const connection = await WireConnection.open(uploaders[0]!.caller);
    const { status, problem } = await connection.exchange(upload(uploaders[0]!, 2, 'no'));
    expect([status, codeOf(problem)]).toEqual([429, 'rate_limited']);
    expect((await connection.exchange(heartbeat(uploaders[0]!))).status).toBe(200);
    connection.close();
  });
});

describe('a control that is told to end', () => {
  it('is not ready, ends what is at work, tells connections to close, and is gone', async () => {
    const { control, ports } = deployment();
    const busy = await deployment().playedWorker('busy');
    const [working, idle] = await connections(busy.caller, 2);
    const release = await holdSession(busy);
    const answer = working!.exchange(heartbeat(busy));
    await plain().until('valise_admission_running{listener="ingress",kind="call"}', 1);
    const idleClosed = once(idle!.socket, 'close');
    process.kill(control.pid, 'SIGTERM');
    await logged(control, 'stopping');
    expect((await plain().get('/readyz')).status).toBe(503);
    expect(await plain().metric('valise_ready')).toBe(0);
    // A while longer it takes what balancers still send.
    const last = await WireConnection.open(busy.caller);
    const told = await last.exchange(postJson(busy.pathOf('nothing'), {}));
    expect([told.status, /^connection: close$/im.test(told.head)]).toEqual([404, true]);
    await idleClosed;
    expect((await plain().get('/livez')).status).toBe(200);
    await release();
    const { status, head } = await answer;
    expect([status, /^connection: close$/im.test(head)]).toEqual([200, true]);
    await control.finish();
    await expect(WireConnection.open({ ...busy.caller, port: ports.ingress })).rejects.toThrow(
      'ECONNREFUSED',
    );
    busy.client.close();
  });
});
