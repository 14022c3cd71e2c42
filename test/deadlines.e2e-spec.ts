import { ARTIFACT_CONTENT_TYPE } from '@valise/contracts/wire';
import { useDeployment } from './support/deployment.js';
import type { PlayedWorker } from './support/played-worker.js';
import { useDatabase } from './support/postgres.js';
import { PROJECT } from './support/published-task.js';
import { verification } from './support/verification.js';
import { PlainAddress } from './support/wire/plain-address.js';
import type { WireCaller } from './support/wire/wire-caller.js';
import { WireConnection } from './support/wire/wire-connection.js';
import { post, postJson } from './support/wire/wire-request.js';
import { registration } from './support/worker-session.js';

const DAWDLERS = 2;
/** Connections of each dawdler that dawdle in the same way. */
const EACH = 2;
/** Longer than any deadline of control: what has not ended by then does not end. */
const DEADLINE_MS = 150_000;
const DRIP_MS = 500;
/** More than the buffers between two processes take. */
const LOG_BYTES = 32 * 1024 * 1024;

const deployment = useDeployment(useDatabase(), {
  // So few that nobody else would get one, if connections that dawdle did.
  VALISE_INGRESS_DATABASE_CONNECTIONS: String(DAWDLERS),
});
const plain = (): PlainAddress => new PlainAddress(deployment().ports.plain);

/** Workers that take their time. */
const dawdlers: PlayedWorker[] = [];

/** A connection that waits for as long as control lets it. */
async function patient(caller: WireCaller): Promise<WireConnection> {
  const connection = await WireConnection.open(caller);
  connection.socket.setTimeout(DEADLINE_MS);
  return connection;
}

const head = (dawdler: PlayedWorker, operation: string, type: string, length: number): string =>
  post(dawdler.pathOf(operation), { type, length });

const jsonHead = (dawdler: PlayedWorker, length: number): string =>
  head(dawdler, 'register', 'application/json', length);

/** Sends a byte now and then, for as long as there is a connection. */
function drip({ socket }: WireConnection, byte: string): void {
  const timer = setInterval(() => socket.write(byte), DRIP_MS);
  socket.once('close', () => {
    clearInterval(timer);
  });
}

/** How a connection dawdles, and what has become of it once it has ended. */
interface Case {
  readonly act: () => Promise<unknown>;
  readonly end: unknown;
}

/** Connections that begin so are told that it took too long. */
function told(begin: (dawdler: PlayedWorker, connection: WireConnection) => string): Case {
  const act = async (): Promise<unknown> => {
    const all = dawdlers.flatMap((dawdler) => Array.from({ length: EACH }, () => dawdler));
    const codes = await Promise.all(
      all.map(async (dawdler) => {
        const connection = await patient(dawdler.caller);
        const { problem } = await connection.exchange(begin(dawdler, connection));
        await connection.closed;
        return (JSON.parse(problem) as { code: unknown }).code;
      }),
    );
    return [...new Set(codes)];
  };
  return { act, end: ['request_timeout'] };
}

const SHORT: Readonly<Record<string, Case>> = {
  'that says nothing': told(() => ''),
  'whose head comes byte by byte': told((_, connection) => {
    drip(connection, 'x');
    return 'POST / HTTP/1.1\r\nx: ';
  }),
  'whose body never comes': told((dawdler) => jsonHead(dawdler, 100)),
  'whose body comes byte by byte': told((dawdler, connection) => {
    drip(connection, ' ');
    return jsonHead(dawdler, 60_000);
  }),
};

/** Twenty seconds and more. */
const LONG: Readonly<Record<string, Case>> = {
  'on which nothing is asked any more': {
    end: 200,
    act: async () => {
      const [dawdler] = dawdlers as [PlayedWorker];
      const connection = await patient(dawdler.caller);
      const { status } = await connection.exchange(postJson(dawdler.pathOf('register'), registration()));
      await connection.closed;
      return status;
    },
  },
  'of an upload whose bytes do not come': {
    end: 'closed',
    act: async () => {
      const [dawdler] = dawdlers as [PlayedWorker];
      const connection = await patient(dawdler.caller);
      return connection.ask(head(dawdler, 'artifacts', ARTIFACT_CONTENT_TYPE, 1000));
    },
  },
  'of a reader that does not read': {
    end: 'closed',
    act: async () => {
      const runId = await storedLog();
      const reader = await patient(deployment().callerAt('management', deployment().operator));
      reader.socket.pause();
      const answer = reader.ask(
        `GET /api/v3/projects/${PROJECT}/runs/${runId}/log HTTP/1.1\r\nhost: x\r\n\r\n`,
      );
      await plain().until('valise_admission_running{listener="management",kind="transfer"}', 1);
      await plain().until('valise_pool_connections{role="operator",state="busy"}', 0);
      const route = 'listener="management",method="GET",route="/api/v3/projects/:projectId/runs/:runId/log"';
      await plain().until(`valise_requests_total{${route},outcome="aborted"}`, 1, DEADLINE_MS);
      reader.socket.resume();
      return answer;
    },
  },
};

/** The run of an attempt with a log. */
async function storedLog(): Promise<string> {
  await deployment().run();
  const [dawdler] = dawdlers as [PlayedWorker];
  const held = await dawdler.hold();
  await dawdler.running(held);
  const { status } = await dawdler.upload(held, Buffer.alloc(LOG_BYTES, 'a'));
  expect(status).toBe(200);
  return held.fence.runId;
}

describe('a connection', () => {
  const cases = Object.entries({ ...SHORT, ...(verification.longDeadlines && LONG) });
  const ends = new Map<string, Promise<unknown>>();

  beforeAll(async () => {
    for (let number = 0; number < DAWDLERS; number += 1) dawdlers.push(await deployment().playedWorker());
    // All at once: each takes as long as its deadline is.
    for (const [name, { act }] of cases) {
      const end = act();
      end.catch(() => undefined);
      ends.set(name, end);
    }
  });

  afterAll(() => {
    for (const { client } of dawdlers) client.close();
  });

  it('that dawdles takes nobody’s turn', async () => {
    const bodies = 2 * DAWDLERS * EACH;
    await plain().until('valise_admission_waiting{listener="ingress",kind="call"}', bodies);
    const other = await deployment().playedWorker();
    expect(other.generation).toBe(1);
    other.client.close();
  });

  it.each(cases)(
    '%s is ended',
    async (name, { end }) => {
      expect(await ends.get(name)).toEqual(end);
    },
    DEADLINE_MS,
  );
});
