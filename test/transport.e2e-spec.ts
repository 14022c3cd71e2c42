import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PublishTaskRequest } from '@valise/contracts/wire';
import type { LogLine } from '../apps/cli/src/demo/program.js';
import { OPERATORS } from './support/control-settings.js';
import { useDeployment } from './support/deployment.js';
import { artifactOf, type Held } from './support/held-attempt.js';
import { useDatabase } from './support/postgres.js';
import { onlyFor, PROJECT } from './support/published-task.js';
import { replaceFile, type TestIdentity, TRUST_DOMAIN } from './support/test-pki.js';
import { until } from './support/until.js';
import { PlainAddress } from './support/wire/plain-address.js';
import { type Answer, WireClient } from './support/wire/wire-client.js';
import { type Outcome, WireConnection } from './support/wire/wire-connection.js';
import { newSessionId, registration, sessionPath } from './support/worker-session.js';

const HOUR_MS = 60 * 60 * 1000;

const database = useDatabase();
const deployment = useDeployment(database, { VALISE_RELOAD_INTERVAL_MS: '200' });

beforeAll(async () => {
  for (const workerId of ['w-1', 'bad', 'good']) await deployment().allow(workerId);
});

/** Where the worker registers, in a session of its own. */
const registerPath = (workerId: string): string =>
  sessionPath({ workerId, sessionId: newSessionId() }, 'register');

const register = (workerId: string, client: WireClient): Promise<Answer> =>
  client.post(registerPath(workerId), registration());

/** What a new connection of the worker gets. */
async function ask(workerId: string, identity: TestIdentity): Promise<[number, unknown] | 'closed'> {
  const client = deployment().client(identity);
  try {
    const { status, json } = await register(workerId, client);
    return [status, json.code];
  } catch {
    return 'closed';
  } finally {
    client.close();
  }
}

const connectionOf = (identity: TestIdentity): Promise<WireConnection> =>
  WireConnection.attempt(deployment().callerAt('ingress', identity));

const patience = { situation: () => deployment().logs() };

const plain = (): PlainAddress => new PlainAddress(deployment().ports.plain);

/** A task with secrets that only this worker may run, and that takes a second. */
function asleep(workerId: string): Partial<PublishTaskRequest> {
  const { spec } = onlyFor(workerId);
  const command = { kind: 'argv', file: '/bin/sleep', args: ['1'] };
  return {
    spec: { ...spec, config: { ...(spec?.config as object), command } },
  };
}

describe('a worker whose certificate is revoked', () => {
  it('loses its live connection by itself, gets no new one, and nobody else notices', async () => {
    const { pki } = deployment();
    const [bad, good] = [await pki.worker('bad'), await pki.worker('good')];
    const live = await connectionOf(bad);
    const other = deployment().client(good);
    expect([await ask('bad', bad), (await register('good', other)).status]).toEqual([[200, undefined], 200]);
    await pki.revoke(bad);
    await live.closed;
    expect([await ask('bad', bad), (await register('good', other)).status]).toEqual(['closed', 200]);
    expect(await plain().metric('valise_connections_destroyed_total{reason="revoked"}')).toBe(1);
    expect(await plain().metric('valise_handshake_failures_total{reason="certificate_revoked"}')).toBe(1);
    other.close();
  });
});

describe('a revocation list', () => {
  afterEach(async () => {
    await deployment().pki.revoke();
    expect(await deployment().reload()).toEqual({ certificates: true, operators: true });
  });

  it('that is garbage leaves the last good one in force, and raises an alert', async () => {
    const { pki } = deployment();
    const worker = await pki.worker('w-1');
    replaceFile(pki.revocationFile, 'hunter2');
    expect(await deployment().reload()).toEqual({ certificates: false, operators: true });
    expect(await ask('w-1', worker)).toEqual([200, undefined]);
    expect(await plain().metric('valise_reload_failing{files="certificates"}')).toBe(1);
    expect(deployment().logs()).not.toContain('hunter2');
  });

  it('past its next update refuses every caller of both listeners, with a reason of its own, and no longer than it lies there', async () => {
    const { pki } = deployment();
    const worker = await pki.worker('w-1');
    const passed = {
      thisUpdate: new Date(Date.now() - 2 * HOUR_MS),
      nextUpdate: new Date(Date.now() - 1000),
    };
    await pki.writeLists([[pki.authority, passed]]);
    await deployment().reload();
    expect(await ask('w-1', worker)).toEqual([503, 'revocation_unavailable']);
    await expect(deployment().management.run(PROJECT, 'x')).rejects.toThrow();
    await plain().until('valise_revocation_overdue', 1);
    await pki.revoke();
    await deployment().reload();
    expect(await ask('w-1', worker)).toEqual([200, undefined]);
    expect(await plain().metric('valise_revocation_overdue')).toBe(0);
  });
});

describe('a worker whose certificate has ended', () => {
  it('says so, asks ever less often and claims nothing; then it goes on with the new one, and with the next in the middle of a task', async () => {
    const { pki } = deployment();
    const workerId = 'sleeper';
    const name = `spiffe://${TRUST_DOMAIN}/worker/${workerId}`;
    const ended = { notBefore: new Date(Date.now() - 2 * HOUR_MS), notAfter: new Date(Date.now() - HOUR_MS) };
    const files = await pki.client(name, ended);
    await deployment().allow(workerId, { labels: { worker: workerId } });
    const first = await deployment().run(asleep(workerId));
    const worker = await deployment().startWorker(workerId, {
      VALISE_TLS_CERTIFICATE_FILE: files.certificateFile,
      VALISE_TLS_KEY_FILE: files.keyFile,
    });
    const failures = (): LogLine[] => worker.lines.filter(({ event }) => event === 'claim_failed');
    await until('some failures', () => failures().length === 3, patience);
    for (const { error } of failures()) expect(error).toMatchObject({ code: 'identity_expired' });
    const times = failures().map(({ time }) => Date.parse(String(time)));
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(700);
    expect((await deployment().management.run(PROJECT, first)).status).toBe('queued');

    const second = pki.replace(files, await pki.client(name));
    process.kill(worker.pid, 'SIGHUP');
    await deployment().runWhen(first, ({ status }) => status === 'running');
    const third = pki.replace(files, await pki.client(name));
    process.kill(worker.pid, 'SIGHUP');
    expect((await deployment().ended(first)).status).toBe('succeeded');
    const next = await deployment().run(asleep(workerId));
    expect((await deployment().ended(next)).status).toBe('succeeded');
    expect([await serialsOf(first), await serialsOf(next)]).toEqual([
      [second.serialNumber],
      [third.serialNumber],
    ]);
  });

  /** The certificates that the run's secrets were delivered to. */
  async function serialsOf(runId: string): Promise<string[]> {
    const rows = await database().query<{ serial: string }>(
      'SELECT lower(certificate_serial) AS serial FROM delivery_records WHERE run_id = $1',
      [runId],
    );
    return rows.map(({ serial }) => serial);
  }
});

describe('files of control that change', () => {
  it('give operators their roles anew, and a file that is bad leaves the last good roles', async () => {
    const { directory, pki } = deployment();
    const path = join(directory, 'operators');
    const bob = new WireClient(deployment().callerAt('management', await pki.operator('bob')));
    const status = async (): Promise<Outcome> => (await bob.send('GET', '/openapi.json', null)).status;
    expect(await status()).toBe(403);
    writeFileSync(path, JSON.stringify({ ...OPERATORS, bob: { '*': 'viewer' } }));
    await deployment().reload();
    expect(await status()).toBe(200);
    writeFileSync(path, '{"bob": "hunter2"}');
    expect(await deployment().reload()).toEqual({ certificates: true, operators: false });
    expect(await status()).toBe(200);
    writeFileSync(path, JSON.stringify(OPERATORS));
    await deployment().reload();
    expect(await status()).toBe(403);
    bob.close();
  });

  it('are found without a signal: new connections get the renewed certificate of control', async () => {
    const { pki, server } = deployment();
    const serial = async (): Promise<string> => {
      const client = await connectionOf(await pki.worker('w-1'));
      const { serialNumber } = client.socket.getPeerCertificate();
      client.close();
      return serialNumber.toLowerCase();
    };
    expect(await serial()).toBe(server.serialNumber);
    const renewed = pki.replace(server, await pki.server('renewed'));
    await until('the renewed certificate', async () => (await serial()) === renewed.serialNumber, patience);
  });
});

describe('a request to the worker-facing listener', () => {
  const uploadsOf = (held: Held): Promise<unknown[]> =>
    database().query('SELECT FROM artifact_uploads WHERE log_artifact_id = $1', [artifactOf(held)]);

  const HEAD = `POST ${registerPath('w-1')} HTTP/1.1\r\nhost: x\r\n`;

  it.each([
    [
      '413: a declared body over the limit',
      413,
      'content-type: application/json\r\ncontent-length: 65537\r\n\r\n',
    ],
    [
      '415: a compressed body',
      415,
      'content-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}',
    ],
    [
      '400: two lengths',
      400,
      'content-type: application/json\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}',
    ],
    [
      '400: a length and chunks',
      400,
      'content-type: application/json\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    ],
    [
      '400: a length that is no number',
      400,
      'content-type: application/json\r\ncontent-length: -2\r\n\r\n{}',
    ],
  ])('is answered %s', async (_, status, rest) => {
    const client = await connectionOf(await deployment().pki.worker('w-1'));
    expect(await client.ask(HEAD + rest)).toBe(status);
    client.close();
  });

  it.each([2, 4])(
    'is answered 400: an upload of 3 bytes that announces %i, and nothing is stored',
    async (announced) => {
      const worker = await deployment().playedWorker();
      await deployment().run(onlyFor(worker.workerId));
      const held = await worker.hold();
      const { status, json } = await worker.upload(held, Buffer.from('log'), announced);
      expect([status, json.code]).toEqual([400, 'invalid_worker_request']);
      expect(await uploadsOf(held)).toEqual([]);
      expect((await worker.upload(held, Buffer.from('log'))).status).toBe(200);
      worker.client.close();
    },
  );

  it('gets no compressed answer, whatever it accepts', async () => {
    const client = deployment().client(await deployment().pki.worker('w-1'));
    const answer = await client.send('POST', '/', null, { 'accept-encoding': 'gzip, br' });
    expect(answer.headers['content-encoding']).toBeUndefined();
    client.close();
  });
});
