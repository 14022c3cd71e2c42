import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import type { HandshakeFailure } from '../../apps/control/src/tls/transport-facts.js';
import { TestAuthority } from '../support/test-authority.js';
import { type TestIdentity, TRUST_DOMAIN } from '../support/test-pki.js';
import type { Outcome, WireConnection } from '../support/wire/wire-connection.js';
import { HOUR_MS, useListener } from './test-listener.js';

const listener = useListener();

/** A connection that was answered, and the tickets with which its session might be resumed. */
async function begun(identity: TestIdentity): Promise<{ first: WireConnection; tickets: Buffer[] }> {
  const first = await listener().open(identity);
  const tickets: Buffer[] = [];
  first.socket.on('session', (ticket) => tickets.push(ticket));
  expect(await first.ask()).toBe(200);
  await listener().until('a ticket', () => tickets.length > 0);
  return { first, tickets };
}

describe('a listener', () => {
  it('resumes no session, whatever ticket a client brings', async () => {
    await listener().listen();
    const identity = await listener().pki.worker('w-1');
    const { first, tickets } = await begun(identity);
    first.close();
    for (const session of tickets) {
      const again = await listener().open(identity, { session });
      expect(again.socket.isSessionReused()).toBe(false);
      expect(await again.ask()).toBe(200);
      again.close();
    }
  });

  it('resumes no session that was begun before its certificates were renewed', async () => {
    await listener().listen();
    const identity = await listener().pki.worker('w-1');
    const { first, tickets } = await begun(identity);
    await listener().timer.reload();
    const [session] = tickets;
    const again = await listener().open(identity, { ...(session && { session }) });
    expect(again.socket.isSessionReused()).toBe(false);
    first.close();
    again.close();
  });

  it.each<[HandshakeFailure, () => Promise<Outcome>]>([
    ['no_certificate', () => listener().ask(null)],
    [
      'untrusted_issuer',
      async () =>
        listener().ask(await listener().pki.worker('w-1', await TestAuthority.create('CN=Foreign'))),
    ],
    [
      'untrusted_issuer',
      async () => listener().ask(await listener().pki.worker('w-1', await TestAuthority.create())),
    ],
    ['certificate_expired', async () => listener().ask(await lasting(-2 * HOUR_MS, -HOUR_MS))],
    ['certificate_not_yet_valid', async () => listener().ask(await lasting(HOUR_MS, 2 * HOUR_MS))],
    ['certificate_invalid', () => listener().ask(listener().own)],
    [
      'protocol_mismatch',
      async () => listener().ask(await listener().pki.worker('w-1'), { maxVersion: 'TLSv1.2' }),
    ],
    ['connection_closed', hangUp],
  ])('counts a handshake that fails for %s, and gives no byte of an answer', async (reason, call) => {
    await listener().listen();
    expect(await call()).toBe('closed');
    await listener().until(reason, () => listener().facts.handshakeFailures[reason] === 1);
    const all = Object.values(listener().facts.handshakeFailures);
    expect(all.reduce((sum, count) => sum + count)).toBe(1);
  });

  it('ends a handshake that never comes to its end, and counts it', async () => {
    await listener().listen({}, { handshakeTimeout: 50 });
    const socket = connectTcp(listener().port, '127.0.0.1');
    await once(socket, 'close');
    expect(listener().facts.handshakeFailures.timeout).toBe(1);
  });

  it.each([
    ['two names', [`spiffe://${TRUST_DOMAIN}/worker/w-1`, `spiffe://${TRUST_DOMAIN}/worker/w-2`]],
    ['a name in another trust domain', ['spiffe://elsewhere.test/worker/w-1']],
    ['a name that is none of ours', ['https://valise.test/worker/w-1']],
  ])('knows nobody by a certificate with %s', async (_, uris) => {
    await listener().listen();
    expect(await listener().ask(await listener().pki.client(uris))).toBe(401);
    expect(listener().facts.refusedRequests.no_identity).toBe(1);
  });

  it('knows nobody by a common name', async () => {
    await listener().listen();
    expect(await listener().ask(await listener().pki.commonName('w-1'))).toBe(401);
  });

  it('ends a connection with its certificate: the next request is refused, and the next tick destroys it', async () => {
    await listener().listen();
    const client = await listener().open(await lasting(-HOUR_MS, 1500));
    expect(await client.ask()).toBe(200);
    const endsAt = client.socket.getCertificate() as { valid_to: string };
    await listener().until('the end of the certificate', () => Date.now() >= Date.parse(endsAt.valid_to));
    expect(await client.ask()).toBe(401);
    expect(listener().facts.refusedRequests.expired).toBe(1);
    listener().timer.start(20, () => {
      listener().transport.endRefused();
    });
    await client.closed;
    expect(listener().facts.destroyedSockets.expired).toBe(1);
  });
});

const lasting = (fromMs: number, toMs: number): Promise<TestIdentity> =>
  listener().pki.client(`spiffe://${TRUST_DOMAIN}/worker/w-1`, {
    notBefore: new Date(Date.now() + fromMs),
    notAfter: new Date(Date.now() + toMs),
  });

/** Connects, says nothing and leaves. */
async function hangUp(): Promise<Outcome> {
  const socket = connectTcp(listener().port, '127.0.0.1');
  await once(socket, 'connect');
  socket.resetAndDestroy();
  return 'closed';
}
