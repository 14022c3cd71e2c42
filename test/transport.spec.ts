import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type Server, type ServerOptions } from 'node:https';
import { type AddressInfo, connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { ValiseError } from '@valise/contracts/failure';
import type { TlsConfig } from '../apps/control/src/config/control-config.js';
import { ReloadTimer } from '../apps/control/src/tls/reload-timer.js';
import { Transport } from '../apps/control/src/tls/transport.js';
import type { HandshakeFailure } from '../apps/control/src/tls/transport-facts.js';
import { MutualTlsClient, type Outcome } from './support/mutual-tls-client.js';
import { pem, TestAuthority } from './support/test-authority.js';
import { replaceFile, type TestIdentity, TestPki } from './support/test-pki.js';

const TRUST_DOMAIN = 'valise.test';
const HOUR_MS = 3_600_000;
const DEADLINE_MS = 10_000;

let directory: string;
let pki: TestPki;
let server: Server;
let transport: Transport;
let timer: ReloadTimer;
let lines: string[];
let port: number;
let own: TestIdentity;
/** What clients trust, whatever the listener trusts. */
let controlCaFile: string;

const tlsConfig = (settings: Partial<TlsConfig> = {}): TlsConfig => ({
  certificateFile: own.certificateFile,
  keyFile: own.keyFile,
  clientCaFile: pki.caFile,
  revocationFile: null,
  revocationGraceMs: 0,
  ...settings,
});

/** A listener over these credentials, which answers 200 to a caller and 401 to anybody else. */
async function listen(settings: Partial<TlsConfig> = {}, options: ServerOptions = {}): Promise<void> {
  const log = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  transport = Transport.open(TRUST_DOMAIN, tlsConfig(settings), log);
  server = createServer({ ...transport.serverOptions, ...options }, (request, response) => {
    response.statusCode = statusOf(() => transport.callerOf(request));
    response.setHeader('content-length', 0);
    response.end();
  });
  transport.serve(server);
  timer = new ReloadTimer({ certificates: transport }, transport.facts, log);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
}

function statusOf(caller: () => unknown): number {
  try {
    return caller() === null ? 401 : 200;
  } catch (error) {
    return error instanceof ValiseError && error.code === 'revocation_unavailable' ? 503 : 500;
  }
}

const listenWithLists = (settings: Partial<TlsConfig> = {}): Promise<void> =>
  listen({ revocationFile: pki.revocationFile, ...settings });

const open = (identity: TestIdentity | null): Promise<MutualTlsClient> =>
  MutualTlsClient.open(port, controlCaFile, identity);

/** What a new connection gets. */
async function ask(identity: TestIdentity | null): Promise<Outcome> {
  const client = await open(identity);
  const outcome = await client.ask();
  await client.close();
  return outcome;
}

async function until(holds: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`it never came to this: ${what}\n${lines.join('')}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const events = (): unknown[] =>
  lines.map((line) => (JSON.parse(line) as { event?: unknown }).event).filter((event) => event !== undefined);

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'valise-transport-'));
  pki = await TestPki.create(join(directory, 'pki'), TRUST_DOMAIN);
  own = await pki.server('control');
  controlCaFile = join(directory, 'control-ca.pem');
  copyFileSync(pki.caFile, controlCaFile);
  lines = [];
});

afterEach(() => {
  timer.stop();
  server.closeAllConnections();
  server.close();
  rmSync(directory, { recursive: true });
});

describe('a listener', () => {
  it('resumes no session, whatever ticket a client brings', async () => {
    await listen();
    const identity = await pki.worker('w-1');
    const first = await open(identity);
    const tickets: Buffer[] = [];
    first.socket.on('session', (ticket) => tickets.push(ticket));
    expect(await first.ask()).toBe(200);
    await until(() => tickets.length > 0, 'a ticket');
    await first.close();
    for (const session of tickets) {
      const again = await MutualTlsClient.open(port, controlCaFile, identity, { session });
      expect(again.socket.isSessionReused()).toBe(false);
      expect(await again.ask()).toBe(200);
      await again.close();
    }
  });

  it('resumes no session that was begun before its certificates were renewed', async () => {
    await listen();
    const identity = await pki.worker('w-1');
    const first = await open(identity);
    const tickets: Buffer[] = [];
    first.socket.on('session', (ticket) => tickets.push(ticket));
    expect(await first.ask()).toBe(200);
    await until(() => tickets.length > 0, 'a ticket');
    await timer.reload();
    const [session] = tickets;
    const again = await MutualTlsClient.open(port, controlCaFile, identity, { ...(session && { session }) });
    expect(again.socket.isSessionReused()).toBe(false);
    await Promise.all([first.close(), again.close()]);
  });

  it.each<[HandshakeFailure, () => Promise<Outcome>]>([
    ['no_certificate', () => ask(null)],
    ['untrusted_issuer', async () => ask(await pki.worker('w-1', await TestAuthority.create('CN=Foreign')))],
    ['untrusted_issuer', async () => ask(await pki.worker('w-1', await TestAuthority.create()))],
    ['certificate_expired', async () => ask(await lasting(-2 * HOUR_MS, -HOUR_MS))],
    ['certificate_not_yet_valid', async () => ask(await lasting(HOUR_MS, 2 * HOUR_MS))],
    ['certificate_invalid', () => ask(own)],
    ['protocol_mismatch', async () => askWith(await pki.worker('w-1'), { maxVersion: 'TLSv1.2' })],
    ['connection_closed', hangUp],
  ])('counts a handshake that fails for %s, and gives no byte of an answer', async (reason, call) => {
    await listen();
    expect(await call()).toBe('closed');
    await until(() => transport.facts.handshakeFailures[reason] === 1, reason);
    const all = Object.values(transport.facts.handshakeFailures);
    expect(all.reduce((sum, count) => sum + count)).toBe(1);
  });

  it('ends a handshake that never comes to its end, and counts it', async () => {
    await listen({}, { handshakeTimeout: 50 });
    const socket = connectTcp(port, '127.0.0.1');
    await once(socket, 'close');
    expect(transport.facts.handshakeFailures.timeout).toBe(1);
  });

  it.each([
    ['two names', [`spiffe://${TRUST_DOMAIN}/worker/w-1`, `spiffe://${TRUST_DOMAIN}/worker/w-2`]],
    ['a name in another trust domain', ['spiffe://elsewhere.test/worker/w-1']],
    ['a name that is none of ours', ['https://valise.test/worker/w-1']],
  ])('knows nobody by a certificate with %s', async (_, uris) => {
    await listen();
    expect(await ask(await pki.client(uris))).toBe(401);
    expect(transport.facts.refusedRequests.no_identity).toBe(1);
  });

  it('knows nobody by a common name', async () => {
    await listen();
    expect(await ask(await pki.commonName('w-1'))).toBe(401);
  });

  it('ends a connection with its certificate: the next request is refused, and the next tick destroys it', async () => {
    await listen();
    const client = await open(await lasting(-HOUR_MS, 1500));
    expect(await client.ask()).toBe(200);
    const endsAt = client.socket.getCertificate() as { valid_to: string };
    await until(() => Date.now() >= Date.parse(endsAt.valid_to), 'the end of the certificate');
    expect(await client.ask()).toBe(401);
    expect(transport.facts.refusedRequests.expired).toBe(1);
    timer.start(20, () => {
      transport.endRefused();
    });
    await client.closed;
    expect(transport.facts.destroyedSockets.expired).toBe(1);
  });
});

describe('certificates on the disk', () => {
  const serialOf = ({ socket }: MutualTlsClient): string =>
    socket.getPeerCertificate().serialNumber.toLowerCase();

  /** Puts other content in place of a file of the set. */
  const replacing =
    (
      setting: 'certificateFile' | 'keyFile' | 'caFile' | 'revocationFile',
      content: () => string | Promise<string>,
    ) =>
    async (): Promise<void> => {
      const path = setting === 'certificateFile' || setting === 'keyFile' ? own[setting] : pki[setting];
      replaceFile(path, await content());
    };

  it('are used by new connections once they are renewed; running requests finish with the old ones', async () => {
    await listen();
    const worker = await pki.worker('w-1');
    const before = await open(worker);
    const answer = before.ask('GET / HTTP/1.1\r\nHost: localhost\r\n');
    const renewed = pki.replace(own, await pki.server('renewed'));
    await timer.reload();
    before.socket.write('\r\n');
    expect(await answer).toBe(200);
    const after = await open(worker);
    expect([serialOf(before), serialOf(after)]).toEqual([own.serialNumber, renewed.serialNumber]);
    expect(transport.facts.reloads.certificates).toEqual({ succeeded: 1, failed: 0, failing: false });
    await Promise.all([before.close(), after.close()]);
  });

  it('are found by themselves when a Kubernetes volume turns its link, and only then', async () => {
    const volume = join(directory, 'volume');
    const project = async (generation: string): Promise<TestIdentity> => {
      const identity = await pki.server(generation);
      mkdirSync(join(volume, generation), { recursive: true });
      copyFileSync(identity.certificateFile, join(volume, generation, 'tls.crt'));
      copyFileSync(identity.keyFile, join(volume, generation, 'tls.key'));
      symlinkSync(generation, join(volume, '..data_tmp'));
      renameSync(join(volume, '..data_tmp'), join(volume, '..data'));
      return identity;
    };
    await project('..1');
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(volume, name));
    await listen({ certificateFile: join(volume, 'tls.crt'), keyFile: join(volume, 'tls.key') });
    let ticks = 0;
    timer.start(10, () => void (ticks += 1));
    await until(() => ticks > 3, 'a few ticks');
    expect(transport.facts.reloads.certificates.succeeded).toBe(0);
    const { serialNumber } = await project('..2');
    await until(() => transport.facts.reloads.certificates.succeeded > 0, 'a reload');
    const client = await open(await pki.worker('w-1'));
    expect(serialOf(client)).toBe(serialNumber);
    await client.close();
  });

  it.each<[string, string, () => unknown]>([
    [
      'VALISE_TLS_KEY_FILE',
      'another key',
      replacing('keyFile', async () => keyOf(await pki.server('other'))),
    ],
    ['VALISE_TLS_KEY_FILE', 'no key', replacing('keyFile', () => 'hunter2')],
    ['VALISE_TLS_CERTIFICATE_FILE', 'no certificate', replacing('certificateFile', () => 'hunter2')],
    ['VALISE_TLS_CERTIFICATE_FILE', 'a damaged one', replacing('certificateFile', () => damaged())],
    ['VALISE_TLS_CERTIFICATE_FILE', 'an expired one', () => renewWith(-2 * HOUR_MS, -HOUR_MS)],
    ['VALISE_TLS_CERTIFICATE_FILE', 'one for later', () => renewWith(HOUR_MS, 2 * HOUR_MS)],
    [
      'VALISE_TLS_CERTIFICATE_FILE',
      'nothing',
      () => {
        rmSync(own.certificateFile);
      },
    ],
    [
      'VALISE_TLS_CERTIFICATE_FILE',
      'a directory',
      () => {
        rmSync(own.certificateFile);
        mkdirSync(own.certificateFile);
      },
    ],
    ['VALISE_TLS_CLIENT_CA_FILE', 'nothing', replacing('caFile', () => '')],
    [
      'VALISE_TLS_CLIENT_CA_FILE',
      'a damaged one',
      replacing('caFile', () => `${pki.authority.pem}${damaged()}`),
    ],
    [
      'VALISE_TLS_CLIENT_CA_FILE',
      'no authority',
      replacing('caFile', () => readFileSync(own.certificateFile, 'utf8')),
    ],
    [
      'VALISE_TLS_CLIENT_CA_FILE',
      'no root',
      replacing('caFile', async () => (await TestAuthority.create('CN=Below', pki.authority)).pem),
    ],
    ['VALISE_TLS_REVOCATION_FILE', 'garbage', replacing('revocationFile', () => 'hunter2')],
    [
      'VALISE_TLS_REVOCATION_FILE',
      'one of a stranger',
      async () => pki.writeLists([[await TestAuthority.create('CN=Stranger'), {}]]),
    ],
    [
      'VALISE_TLS_REVOCATION_FILE',
      'one of a namesake',
      async () => pki.writeLists([[await TestAuthority.create(), {}]]),
    ],
    [
      'VALISE_TLS_REVOCATION_FILE',
      'an authority without a list',
      async () => {
        pki.writeAuthorities([pki.authority, await TestAuthority.create('CN=Next')]);
      },
    ],
  ])('stay in force while %s holds %s: nothing of the new set is taken', async (setting, _, spoil) => {
    await pki.revoke();
    await listenWithLists();
    const worker = await pki.worker('w-1');
    const live = await open(worker);
    expect(await live.ask()).toBe(200);
    // What is good in the same set is not taken either.
    if (setting !== 'VALISE_TLS_REVOCATION_FILE') await pki.revoke(worker);
    await spoil();
    await timer.reload();
    expect(transport.facts.reloads.certificates).toEqual({ succeeded: 0, failed: 1, failing: true });
    expect([await live.ask(), await ask(worker)]).toEqual([200, 200]);
    const [line] = lines.filter((text) => text.includes('reload_failed'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ level: 50, set: 'certificates', setting });
    expect(lines.join('')).not.toMatch(/hunter2|BEGIN|Stranger|Below/);
    await live.close();
  });

  it('are renewed while another set of files is bad', async () => {
    await pki.revoke();
    await listenWithLists();
    const operators = { refresh: () => Promise.reject(new ValiseError('configuration_invalid')) };
    const { facts } = transport;
    const both = new ReloadTimer({ certificates: transport, operators }, facts, pino({ enabled: false }));
    const worker = await pki.worker('w-1');
    await both.reload();
    await pki.revoke(worker);
    await both.reload();
    expect(await ask(worker)).toBe('closed');
    expect([facts.reloads.operators.failing, facts.reloads.certificates.failing]).toEqual([true, false]);
  });

  it('say once that they are bad, and that they are good again', async () => {
    await listen();
    const key = readFileSync(own.keyFile);
    replaceFile(own.keyFile, 'garbage');
    timer.start(10, () => undefined);
    await until(() => transport.facts.reloads.certificates.failed > 2, 'three tries');
    replaceFile(own.keyFile, key);
    await until(() => !transport.facts.reloads.certificates.failing, 'a good set');
    expect(events()).toEqual(['reload_failed', 'reloaded']);
  });

  it.each([
    [
      'VALISE_TLS_KEY_FILE',
      (): void => {
        replaceFile(own.keyFile, 'garbage');
      },
    ],
    [
      'VALISE_TLS_CLIENT_CA_FILE',
      (): void => {
        rmSync(pki.caFile);
      },
    ],
  ])('stop the start when %s is bad', async (setting, spoil) => {
    await listen();
    spoil();
    expect(() => Transport.open(TRUST_DOMAIN, tlsConfig(), pino({ enabled: false }))).toThrow(setting);
  });
});

describe('a rotation of authorities', () => {
  it('trusts both, and then ends the connections of the one that is gone, and no other', async () => {
    await listen();
    const next = await TestAuthority.create('CN=Next');
    const [old, young] = [await pki.worker('w-1'), await pki.worker('w-1', next)];
    const first = await open(old);
    expect([await first.ask(), await ask(young)]).toEqual([200, 'closed']);
    pki.writeAuthorities([pki.authority, next]);
    await timer.reload();
    const second = await open(young);
    expect([await first.ask(), await second.ask()]).toEqual([200, 200]);
    pki.writeAuthorities([next]);
    await timer.reload();
    await first.closed;
    expect([await second.ask(), await ask(old)]).toEqual([200, 'closed']);
    expect(transport.facts.destroyedSockets.untrusted).toBe(1);
    await second.close();
  });

  it('tells apart two authorities of one name', async () => {
    await listen();
    const namesake = await TestAuthority.create();
    const first = await open(await pki.worker('w-1'));
    pki.writeAuthorities([namesake]);
    await timer.reload();
    await first.closed;
    expect(await ask(await pki.worker('w-1', namesake))).toBe(200);
  });
});

describe('a revoked certificate', () => {
  it('loses its live connections, idle or in the middle of a request, and gets no new one', async () => {
    await pki.revoke();
    await listenWithLists();
    const [worker, other] = [await pki.worker('w-1'), await pki.worker('w-2')];
    const [idle, busy, good] = [await open(worker), await open(worker), await open(other)];
    expect([await idle.ask(), await good.ask()]).toEqual([200, 200]);
    const halfway = busy.ask('GET / HTTP/1.1\r\nHost: localhost\r\n');
    await pki.revoke(worker);
    timer.start(10, () => undefined);
    await Promise.all([idle.closed, busy.closed]);
    expect(await halfway).toBe('closed');
    expect([await ask(worker), await good.ask(), await ask(other)]).toEqual(['closed', 200, 200]);
    expect(transport.facts.destroyedSockets.revoked).toBe(2);
    expect(transport.facts.handshakeFailures.certificate_revoked).toBe(1);
    await good.close();
  });

  it('is one of its issuer: the same serial number of another authority is good', async () => {
    const next = await TestAuthority.create('CN=Next');
    const worker = await pki.worker('w-1');
    pki.writeAuthorities([pki.authority, next]);
    await pki.writeLists([
      [pki.authority, {}],
      [next, { revoked: [worker.serialNumber] }],
    ]);
    await listenWithLists();
    expect(await ask(worker)).toBe(200);
  });

  it('may be that of an authority between: everything below it ends', async () => {
    const below = await TestAuthority.create('CN=Below', pki.authority);
    const worker = await pki.worker('w-1', below);
    pki.writeAuthorities([pki.authority, below]);
    await pki.writeLists([
      [pki.authority, {}],
      [below, {}],
    ]);
    await listenWithLists();
    const live = await open(worker);
    expect(await live.ask()).toBe(200);
    await pki.writeLists([
      [pki.authority, { revoked: [below.certificate.serialNumber] }],
      [below, {}],
    ]);
    await timer.reload();
    await live.closed;
    expect(await ask(worker)).toBe('closed');
  });

  it('cannot be told where the authority between came with the client and has no list', async () => {
    const below = await TestAuthority.create('CN=Below', pki.authority);
    const worker = await pki.worker('w-1', below);
    replaceFile(worker.certificateFile, readFileSync(worker.certificateFile, 'utf8') + below.pem);
    await listen();
    expect(await ask(worker)).toBe(200);
    server.close();
    await pki.revoke();
    await listenWithLists();
    expect(await ask(worker)).toBe(503);
  });
});

describe('a revocation list past its next update', () => {
  const overdue = (agoMs: number): Promise<void> =>
    pki.writeLists([
      [
        pki.authority,
        { thisUpdate: new Date(Date.now() - 2 * HOUR_MS), nextUpdate: new Date(Date.now() - agoMs) },
      ],
    ]);

  it('stops no start, refuses every client with a reason of its own, raises an alert once, and is forgotten once a new one is there', async () => {
    await overdue(60_000);
    await listenWithLists();
    const worker = await pki.worker('w-1');
    const live = await open(worker);
    expect(await live.ask()).toBe(503);
    transport.endRefused();
    transport.endRefused();
    expect(transport.facts.revocationOverdue).toBe(true);
    expect(events()).toEqual(['revocation_list_overdue']);
    await pki.revoke();
    await timer.reload();
    expect([transport.facts.revocationOverdue, await live.ask()]).toEqual([false, 200]);
    await live.close();
  });

  it('counts on within the grace that the operator sets, with the alert, and not a moment longer', async () => {
    await overdue(60_000);
    await listenWithLists({ revocationGraceMs: 120_000 });
    expect(await ask(await pki.worker('w-1'))).toBe(200);
    transport.endRefused();
    expect(transport.facts.revocationOverdue).toBe(true);
    await overdue(120_001);
    await timer.reload();
    expect(await ask(await pki.worker('w-1'))).toBe(503);
  });

  it('still refuses for good whom it names', async () => {
    const worker = await pki.worker('w-1');
    await pki.writeLists([
      [
        pki.authority,
        {
          revoked: [worker.serialNumber],
          nextUpdate: new Date(Date.now() - 60_000),
          thisUpdate: new Date(Date.now() - HOUR_MS),
        },
      ],
    ]);
    await listenWithLists();
    expect(await ask(worker)).toBe('closed');
  });

  it('refuses those whom it is about: clients of another authority are asked of that one’s list', async () => {
    const next = await TestAuthority.create('CN=Next');
    pki.writeAuthorities([pki.authority, next]);
    await pki.writeLists([
      [
        pki.authority,
        { nextUpdate: new Date(Date.now() - 60_000), thisUpdate: new Date(Date.now() - HOUR_MS) },
      ],
      [next, {}],
    ]);
    await listenWithLists();
    expect([await ask(await pki.worker('w-1')), await ask(await pki.worker('w-1', next))]).toEqual([
      503, 200,
    ]);
  });
});

const lasting = (fromMs: number, toMs: number): Promise<TestIdentity> =>
  pki.client(`spiffe://${TRUST_DOMAIN}/worker/w-1`, {
    notBefore: new Date(Date.now() + fromMs),
    notAfter: new Date(Date.now() + toMs),
  });

async function askWith(identity: TestIdentity, options: object): Promise<Outcome> {
  const client = await MutualTlsClient.open(port, controlCaFile, identity, options);
  return client.ask();
}

/** Connects, says nothing and leaves. */
async function hangUp(): Promise<Outcome> {
  const socket = connectTcp(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.resetAndDestroy();
  return 'closed';
}

const keyOf = ({ keyFile }: TestIdentity): string => readFileSync(keyFile, 'utf8');

/** A PEM block of the right kind around other bytes. */
const damaged = (): string => pem('CERTIFICATE', Buffer.from('3003020100', 'hex'));

/** Control's certificate is another one, with its key, which lasts this long. */
async function renewWith(fromMs: number, toMs: number): Promise<void> {
  const lifetime = { notBefore: new Date(Date.now() + fromMs), notAfter: new Date(Date.now() + toMs) };
  pki.replace(own, await pki.server('renewed', lifetime));
}
