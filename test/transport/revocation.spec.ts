import { readFileSync } from 'node:fs';
import { TestAuthority } from '../support/test-authority.js';
import { HOUR_MS, useListener } from './test-listener.js';
import { replaceFile } from '../support/test-pki.js';

const listener = useListener();

describe('a revoked certificate', () => {
  it('loses its live connections, idle or in the middle of a request, and gets no new one', async () => {
    await listener().pki.revoke();
    await listener().listenWithLists();
    const [worker, other] = [await listener().pki.worker('w-1'), await listener().pki.worker('w-2')];
    const [idle, busy, good] = [
      await listener().open(worker),
      await listener().open(worker),
      await listener().open(other),
    ];
    expect([await idle.ask(), await good.ask()]).toEqual([200, 200]);
    const halfway = busy.ask('GET / HTTP/1.1\r\nHost: localhost\r\n');
    await listener().pki.revoke(worker);
    listener().timer.start(10, () => undefined);
    await Promise.all([idle.closed, busy.closed]);
    expect(await halfway).toBe('closed');
    expect([await listener().ask(worker), await good.ask(), await listener().ask(other)]).toEqual([
      'closed',
      200,
      200,
    ]);
    expect(listener().facts.destroyedSockets.revoked).toBe(2);
    expect(listener().facts.handshakeFailures.certificate_revoked).toBe(1);
    good.close();
  });

  it('is one of its issuer: the same serial number of another authority is good', async () => {
    const next = await TestAuthority.create('CN=Next');
    const worker = await listener().pki.worker('w-1');
    listener().pki.writeAuthorities([listener().pki.authority, next]);
    await listener().pki.writeLists([
      [listener().pki.authority, {}],
      [next, { revoked: [worker.serialNumber] }],
    ]);
    await listener().listenWithLists();
    expect(await listener().ask(worker)).toBe(200);
  });

  it('may be that of an authority between: everything below it ends', async () => {
    const below = await TestAuthority.create('CN=Below', listener().pki.authority);
    const worker = await listener().pki.worker('w-1', below);
    listener().pki.writeAuthorities([listener().pki.authority, below]);
    await listener().pki.writeLists([
      [listener().pki.authority, {}],
      [below, {}],
    ]);
    await listener().listenWithLists();
    const live = await listener().open(worker);
    expect(await live.ask()).toBe(200);
    await listener().pki.writeLists([
      [listener().pki.authority, { revoked: [below.certificate.serialNumber] }],
      [below, {}],
    ]);
    await listener().timer.reload();
    await live.closed;
    expect(await listener().ask(worker)).toBe('closed');
  });

  it('cannot be told where the authority between came with the client and has no list', async () => {
    const below = await TestAuthority.create('CN=Below', listener().pki.authority);
    const worker = await listener().pki.worker('w-1', below);
    replaceFile(worker.certificateFile, readFileSync(worker.certificateFile, 'utf8') + below.pem);
    await listener().listen();
    expect(await listener().ask(worker)).toBe(200);
    await listener().pki.revoke();
    await listener().listenWithLists();
    expect(await listener().ask(worker)).toBe(503);
  });
});

describe('a revocation list past its next update', () => {
  const overdue = (agoMs: number): Promise<void> =>
    listener().pki.writeLists([
      [
        listener().pki.authority,
        { thisUpdate: new Date(Date.now() - 2 * HOUR_MS), nextUpdate: new Date(Date.now() - agoMs) },
      ],
    ]);

  it('stops no start, refuses every client with a reason of its own, raises an alert once, and is forgotten once a new one is there', async () => {
    await overdue(60_000);
    await listener().listenWithLists();
    const worker = await listener().pki.worker('w-1');
    const live = await listener().open(worker);
    expect(await live.ask()).toBe(503);
    listener().transport.endRefused();
    listener().transport.endRefused();
    expect(listener().facts.revocationOverdue).toBe(true);
    expect(listener().events).toEqual(['revocation_list_overdue']);
    await listener().pki.revoke();
    await listener().timer.reload();
    expect([listener().facts.revocationOverdue, await live.ask()]).toEqual([false, 200]);
    live.close();
  });

  it('counts on within the grace that the operator sets, with the alert, and not a moment longer', async () => {
    await overdue(60_000);
    await listener().listenWithLists({ revocationGraceMs: 120_000 });
    expect(await listener().ask(await listener().pki.worker('w-1'))).toBe(200);
    listener().transport.endRefused();
    expect(listener().facts.revocationOverdue).toBe(true);
    await overdue(120_001);
    await listener().timer.reload();
    expect(await listener().ask(await listener().pki.worker('w-1'))).toBe(503);
  });

  it('still refuses for good whom it names', async () => {
    const worker = await listener().pki.worker('w-1');
    await listener().pki.writeLists([
      [
        listener().pki.authority,
        {
          revoked: [worker.serialNumber],
          nextUpdate: new Date(Date.now() - 60_000),
          thisUpdate: new Date(Date.now() - HOUR_MS),
        },
      ],
    ]);
    await listener().listenWithLists();
    expect(await listener().ask(worker)).toBe('closed');
  });

  it('refuses those whom it is about: clients of another authority are asked of that one’s list', async () => {
    const next = await TestAuthority.create('CN=Next');
    listener().pki.writeAuthorities([listener().pki.authority, next]);
    await listener().pki.writeLists([
      [
        listener().pki.authority,
        { nextUpdate: new Date(Date.now() - 60_000), thisUpdate: new Date(Date.now() - HOUR_MS) },
      ],
      [next, {}],
    ]);
    await listener().listenWithLists();
    expect([
      await listener().ask(await listener().pki.worker('w-1')),
      await listener().ask(await listener().pki.worker('w-1', next)),
    ]).toEqual([503, 200]);
  });
});
