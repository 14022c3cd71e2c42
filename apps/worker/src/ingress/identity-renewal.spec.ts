import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { until } from '../../../../test/support/until.js';
import { type Issued, TestAuthority } from '../../../../test/support/test-authority.js';
import { issueControl, issueWorker } from '../../spec/credentials.js';
import type { WorkerConfig } from '../config/worker-config.js';
import { EventLog } from '../events/event-log.js';
import { IdentityRenewal } from './identity-renewal.js';
import { IngressClient, type Question } from './ingress-client.js';
import { readIdentity } from './worker-identity.js';

const HOUR_MS = 3_600_000;
const QUESTION: Question = {
  path: '/',
  contentType: 'application/json',
  byteLength: 2,
  chunks: () => [Buffer.from('{}')],
  deadlineMs: 5000,
};

let directory: string;
let authority: TestAuthority;
let server: Server;
let connections: number;
let serials: string[];
/** Resolves the answer of each question. */
let answers: (() => void)[];
let client: IngressClient;
let renewal: IdentityRenewal;
let events: unknown[];

const issue = (workerId: string, endsInMs = HOUR_MS): Promise<Issued> =>
  issueWorker(authority, workerId, endsInMs);

/** Puts certificate and key there, each in one act. */
function lay({ certificate, key }: Issued): void {
  for (const [name, content] of Object.entries({ 'worker.pem': certificate, 'worker.key': key })) {
    writeFileSync(join(directory, 'new'), content, { mode: 0o600 });
    renameSync(join(directory, 'new'), join(directory, name));
  }
}

async function begin(identity: Issued): Promise<void> {
  lay(identity);
  const { port } = server.address() as AddressInfo;
  const config = {
    certificateFile: join(directory, 'worker.pem'),
    keyFile: join(directory, 'worker.key'),
    authorityFile: join(directory, 'ca.pem'),
  } as WorkerConfig;
  const read = await readIdentity(config);
  client = new IngressClient(new URL(`https://127.0.0.1:${port}`), read);
  const log = new EventLog('info', {
    write: (line) => void events.push((JSON.parse(line) as { event: unknown }).event),
  });
  renewal = new IdentityRenewal(config, client, read, log);
  await renewal.start(10);
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'valise-identity-'));
  authority = await TestAuthority.create();
  writeFileSync(join(directory, 'ca.pem'), authority.pem);
  const { certificate: cert, key } = await issueControl(authority);
  [connections, serials, answers, events] = [0, [], [], []];
  server = createServer({ cert, key, ca: authority.pem, requestCert: true }, (request, response) => {
    if (request.socket instanceof TLSSocket) serials.push(request.socket.getPeerCertificate().serialNumber);
    request.resume();
    answers.push(() => response.setHeader('content-length', 0).end());
  });
  server.on('connection', () => (connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  jest.restoreAllMocks();
  renewal.stop();
  client.close();
  server.closeAllConnections();
  server.close();
  rmSync(directory, { recursive: true });
});

describe('the worker’s certificate', () => {
  it('is presented anew once it lies on the disk, while what was asked before is answered', async () => {
    await begin(await issue('w-1'));
    const before = client.exchange(QUESTION);
    await until('the first question', () => answers.length === 1);
    lay(await issue('w-1'));
    await until('the renewal', () => events.includes('identity_renewed'));
    const after = client.exchange(QUESTION);
    await until('the second question', () => answers.length === 2);
    for (const answer of answers) answer();
    expect([(await before).status, (await after).status]).toEqual([200, 200]);
    expect(new Set(serials).size).toBe(2);
  });

  it.each([
    ['names another worker', 'identity_of_another_worker', () => issue('w-2')],
    [
      'does not fit its key',
      'identity_not_renewed',
      async () => ({ ...(await issue('w-1')), key: (await issue('w-1')).key }),
    ],
  ])('stays what it was when the one on the disk %s', async (_, event, next) => {
    await begin(await issue('w-1'));
    lay(await next());
    await until(event, () => events.includes(event));
    const asked = client.exchange(QUESTION);
    await until('the question', () => answers.length === 1);
    answers[0]?.();
    expect((await asked).status).toBe(200);
  });

  it('is read again when it could not be read, and that is said once', async () => {
    await begin(await issue('w-1'));
    const disk = jest.spyOn(promises, 'readFile').mockRejectedValue(new Error('EIO'));
    lay(await issue('w-1'));
    await until('the third attempt', () => disk.mock.calls.length > 2);
    disk.mockRestore();
    await until('the renewal', () => events.includes('identity_renewed'));
    expect(events).toEqual(['identity_not_renewed', 'identity_renewed']);
  });

  it('asks nothing once it has ended, and goes on once there is a new one', async () => {
    await begin(await issue('w-1', -1000));
    for (let count = 0; count < 3; count += 1) {
      await expect(client.exchange(QUESTION)).rejects.toMatchObject({ code: 'identity_expired' });
    }
    expect(connections).toBe(0);
    lay(await issue('w-1'));
    await until('the renewal', () => events.includes('identity_renewed'));
    const asked = client.exchange(QUESTION);
    await until('the question', () => answers.length === 1);
    answers[0]?.();
    expect((await asked).status).toBe(200);
  });
});
