import { chmodSync, mkdirSync, rmSync, symlinkSync, truncateSync } from 'node:fs';
import { basename } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { CustodyFault } from '../apps/control/src/custody/secret-custody.js';
import { useDeployment } from './support/deployment.js';
import type { Held } from './support/held-attempt.js';
import type { PlayedWorker } from './support/played-worker.js';
import { useDatabase } from './support/postgres.js';
import { BUNDLE, onlyFor, PROJECT, SECRET } from './support/published-task.js';
import { TestAuthority } from './support/test-authority.js';
import { TRUST_DOMAIN } from './support/test-pki.js';
import { until } from './support/until.js';
import { PlainAddress } from './support/wire/plain-address.js';
import type { Answer } from './support/wire/wire-client.js';
import { WireConnection } from './support/wire/wire-connection.js';
import { newSessionId, registration, sessionPath } from './support/worker-session.js';

const database = useDatabase();
const deployment = useDeployment(database);

const codeOf = (answer: Answer): [number, unknown] => [answer.status, answer.json.code];

/** What operators read about the run's deliveries, once `count` of them have become something. */
function recordsOf({ fence }: Held, count: number): Promise<unknown[]> {
  // The outcome is appended after the last byte, so a worker may ask before it is there.
  return until(`${count} outcomes`, async () => {
    const records = await deployment().management.deliveries(PROJECT, fence.runId);
    const known = records.map(({ denial, outcome }) => denial ?? outcome).filter((end) => end !== undefined);
    return known.length >= count && known;
  });
}

/** A worker that holds the one attempt of a run which nobody else may claim. */
async function holding(): Promise<{ worker: PlayedWorker; held: Held }> {
  const worker = await deployment().playedWorker();
  await deployment().run(onlyFor(worker.workerId));
  return { worker, held: await worker.hold() };
}

/** Of a session of its own. */
const registerPath = (workerId: string): string =>
  sessionPath({ workerId, sessionId: newSessionId() }, 'register');

describe('a caller of the worker-facing listener', () => {
  it.each(['no certificate', 'a certificate of another authority'])(
    'gets no byte of an answer with %s',
    async (which) => {
      const { pki } = deployment();
      const identity =
        which === 'no certificate' ? null : await pki.worker('w-1', await TestAuthority.create());
      // In TLS 1.3 the client learns of the refusal only after its own handshake is done.
      const connection = await WireConnection.attempt(deployment().callerAt('ingress', identity));
      let received = 0;
      connection.socket.on('data', (chunk: Buffer) => (received += chunk.length));
      expect(await connection.ask()).toBe('closed');
      expect(received).toBe(0);
    },
  );

  it('speaks TLS 1.3 and nothing older', async () => {
    const caller = deployment().callerAt('ingress', await deployment().pki.worker('old'));
    await expect(WireConnection.open(caller, { maxVersion: 'TLSv1.2' })).rejects.toMatchObject({
      code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
    });
  });

  it.each([
    ['an operator', [`spiffe://${TRUST_DOMAIN}/operator/alice`]],
    ['a worker of another trust domain', ['spiffe://elsewhere.test/worker/w-1']],
    ['two workers at once', [`spiffe://${TRUST_DOMAIN}/worker/w-1`, `spiffe://${TRUST_DOMAIN}/worker/w-2`]],
    ['nobody', []],
  ])('is not a worker when its certificate names %s', async (_, uris) => {
    const client = deployment().client(await deployment().pki.client(uris));
    expect(codeOf(await client.post(registerPath('w-1'), registration()))).toEqual([
      401,
      'worker_authentication_required',
    ]);
    client.close();
  });

  it('may not speak for another worker', async () => {
    const client = deployment().client(await deployment().pki.worker('w-1'));
    const answer = await client.post(registerPath('w-2'), registration());
    expect(codeOf(answer)).toEqual([403, 'worker_identity_mismatch']);
    client.close();
  });

  it('gets no answer to an unknown route, a query or a wrong method but the code for it', async () => {
    const worker = await deployment().playedWorker();
    const { client } = worker;
    expect(codeOf(await worker.call('nothing', {}))).toEqual([404, 'worker_route_not_found']);
    const path = worker.pathOf('register');
    expect(codeOf(await client.send('GET', path, null))).toEqual([404, 'worker_route_not_found']);
    const body = Buffer.from(JSON.stringify(registration()));
    const json = { 'content-type': 'application/json' };
    expect(codeOf(await client.send('POST', `${path}?a=1`, body, json))).toEqual([
      400,
      'invalid_worker_request',
    ]);
    expect(codeOf(await client.send('POST', path, body, {}))).toEqual([415, 'unsupported_content_type']);
    expect(codeOf(await client.send('POST', path, Buffer.alloc(64 * 1024 + 1, ' '), json))).toEqual([
      413,
      'request_too_large',
    ]);
  });
});

describe('a delivery', () => {
  it('goes to the worker that holds the attempt, byte for byte the same when it asks again', async () => {
    const { worker, held } = await holding();
    const first = await worker.secrets(held);
    expect(first.status).toBe(200);
    expect(first.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-length': String(Buffer.byteLength(first.text)),
    });
    expect(first.headers.etag).toBeUndefined();
    expect(first.json).toMatchObject({ values: [{ secretRef: SECRET, value: 'a secret token' }] });
    const again = await worker.secrets(held);
    expect(again.text).toBe(first.text);
    expect(await recordsOf(held, 2)).toEqual(['sent', 'sent']);
  });

  it('is refused to another worker that knows everything about the attempt, and the refusal is on record', async () => {
    const { held } = await holding();
    const thief = await deployment().playedWorker();
    const answer = await thief.secrets(held, { workerGeneration: thief.generation });
    expect(codeOf(answer)).toEqual([409, 'worker_secret_delivery_fenced']);
    expect(answer.text).not.toContain('a secret token');
    expect(await recordsOf(held, 1)).toHaveLength(1);
  });

  it('is refused to a worker that may not serve the project any more', async () => {
    const { worker, held } = await holding();
    await deployment().allow(worker.workerId, { projects: ['another-project'] });
    expect(codeOf(await worker.secrets(held))).toEqual([409, 'worker_secret_delivery_fenced']);
  });

  it('is refused to a revoked worker', async () => {
    const { worker, held } = await holding();
    await deployment().allow(worker.workerId, { status: 'revoked' });
    expect((await worker.secrets(held)).status).toBe(409);
  });

  it('is refused once the lease has expired', async () => {
    const { worker, held } = await holding();
    await database().query('UPDATE leases SET expires_at_ms = clock_ms() - 1 WHERE attempt_id = $1', [
      held.fence.attemptId,
    ]);
    expect(codeOf(await worker.secrets(held))).toEqual([409, 'worker_secret_delivery_fenced']);
  });

  it('is refused once the run is cancelled, whatever version the request names', async () => {
    const { worker, held } = await holding();
    await deployment().management.cancel(PROJECT, held.fence.runId, { mutationId: randomUUID() });
    for (const moved of [0, 1]) {
      const answer = await worker.secrets(held, {
        expectedLeaseVersion: held.fence.expectedLeaseVersion + moved,
      });
      expect(codeOf(answer)).toEqual([409, 'worker_secret_delivery_fenced']);
    }
  });

  it.each([
    ['one reference is missing', { secretRefs: [] }],
    ['the bundle is missing', { environmentBundleRefs: [] }],
    ['the execution digest is another', { executionDigest: 'f'.repeat(64) }],
    ['the token is another', { leaseToken: 'A'.repeat(43) }],
    ['the offer is another', { offerId: randomUUID() }],
  ])('is refused alike when %s', async (_, change) => {
    const { worker, held } = await holding();
    const answer = await worker.secrets(held, change);
    expect(codeOf(answer)).toEqual([409, 'worker_secret_delivery_fenced']);
    expect(answer.json.facts).toBeUndefined();
    expect(await recordsOf(held, 1)).toHaveLength(1);
  });

  it('is 503 without a byte while one secret is missing, and succeeds once it is there', async () => {
    const { worker, held } = await holding();
    rmSync(deployment().secrets.pathOf(SECRET));
    const missing = await worker.secrets(held);
    expect(codeOf(missing)).toEqual([503, 'worker_secret_delivery_unavailable']);
    expect(missing.headers['retry-after']).toBe('1');
    deployment().secrets.layDefaults();
    expect((await worker.secrets(held)).status).toBe(200);
    expect(await recordsOf(held, 2)).toEqual(['custody_failed', 'sent']);
  });

  it.each<[CustodyFault, (path: string) => void]>([
    [
      'over_permissive',
      (path) => {
        chmodSync(path, 0o444);
      },
    ],
    [
      'too_large',
      (path) => {
        truncateSync(path, 1024 ** 3);
      },
    ],
    [
      'not_a_file',
      (path) => {
        rmSync(path);
        mkdirSync(path);
      },
    ],
    [
      'outside_root',
      (path) => {
        rmSync(path);
        symlinkSync('/etc/hostname', path);
      },
    ],
  ])(
    'is 503 alike where a file is %s: operators are told so, with the file’s name alone',
    async (fault, spoil) => {
      const { worker, held } = await holding();
      const path = deployment().secrets.pathOf(SECRET);
      chmodSync(path, 0o600);
      spoil(path);
      const answer = await worker.secrets(held);
      expect(codeOf(answer)).toEqual([503, 'worker_secret_delivery_unavailable']);
      expect(answer.text).not.toContain(fault);
      const plain = new PlainAddress(deployment().ports.plain);
      expect(await plain.metric(`valise_custody_failures_total{fault="${fault}"}`)).toBe(1);
      const said = deployment().control.lines.filter((line) => line.fault === fault);
      expect(said).toMatchObject([{ event: 'custody_failed', projection: basename(path) }]);
      expect(JSON.stringify(said)).not.toContain(SECRET);
      rmSync(path, { recursive: true });
      deployment().secrets.layDefaults();
      expect((await worker.secrets(held)).status).toBe(200);
    },
  );

  it('is malformed, not fenced, when its references break their contract', async () => {
    const { worker, held } = await holding();
    expect(codeOf(await worker.secrets(held, { secretRefs: [BUNDLE] }))).toEqual([
      400,
      'invalid_worker_request',
    ]);
  });
});
