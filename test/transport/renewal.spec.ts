import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { ValiseError } from '@valise/contracts/failure';
import { ReloadTimer } from '../../apps/control/src/tls/reload-timer.js';
import { Transport } from '../../apps/control/src/tls/transport.js';
import type { WireConnection } from '../support/wire/wire-connection.js';
import { pem, TestAuthority } from '../support/test-authority.js';
import { HOUR_MS, useListener } from './test-listener.js';
import { replaceFile, type TestIdentity, TRUST_DOMAIN } from '../support/test-pki.js';

const listener = useListener();

describe('certificates on the disk', () => {
  const serialOf = ({ socket }: WireConnection): string =>
    socket.getPeerCertificate().serialNumber.toLowerCase();

  /** Puts other content in place of a file of the set. */
  const replacing =
    (
      setting: 'certificateFile' | 'keyFile' | 'caFile' | 'revocationFile',
      content: () => string | Promise<string>,
    ) =>
    async (): Promise<void> => {
      const path =
        setting === 'certificateFile' || setting === 'keyFile'
          ? listener().own[setting]
          : listener().pki[setting];
      replaceFile(path, await content());
    };

  it('are used by new connections once they are renewed; running requests finish with the old ones', async () => {
    await listener().listen();
    const worker = await listener().pki.worker('w-1');
    const before = await listener().open(worker);
    const answer = before.ask('GET / HTTP/1.1\r\nHost: localhost\r\n');
    const renewed = listener().pki.replace(listener().own, await listener().pki.server('renewed'));
    await listener().timer.reload();
    before.socket.write('\r\n');
    expect(await answer).toBe(200);
    const after = await listener().open(worker);
    expect([serialOf(before), serialOf(after)]).toEqual([listener().own.serialNumber, renewed.serialNumber]);
    expect(listener().facts.reloads.certificates).toEqual({ succeeded: 1, failed: 0, failing: false });
    before.close();
    after.close();
  });

  it('are found by themselves when a Kubernetes volume turns its link, and only then', async () => {
    const volume = join(listener().directory, 'volume');
    const project = async (generation: string): Promise<TestIdentity> => {
      const identity = await listener().pki.server(generation);
      mkdirSync(join(volume, generation), { recursive: true });
      copyFileSync(identity.certificateFile, join(volume, generation, 'tls.crt'));
      copyFileSync(identity.keyFile, join(volume, generation, 'tls.key'));
      symlinkSync(generation, join(volume, '..data_tmp'));
      renameSync(join(volume, '..data_tmp'), join(volume, '..data'));
      return identity;
    };
    await project('..1');
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(volume, name));
    await listener().listen({ certificateFile: join(volume, 'tls.crt'), keyFile: join(volume, 'tls.key') });
    let ticks = 0;
    listener().timer.start(10, () => void (ticks += 1));
    await listener().until('a few ticks', () => ticks > 3);
    expect(listener().facts.reloads.certificates.succeeded).toBe(0);
    const { serialNumber } = await project('..2');
    await listener().until('a reload', () => listener().facts.reloads.certificates.succeeded > 0);
    const client = await listener().open(await listener().pki.worker('w-1'));
    expect(serialOf(client)).toBe(serialNumber);
    client.close();
  });

  it.each<[string, string, () => unknown]>([
    [
      'VALISE_TLS_KEY_FILE',
      'another key',
      replacing('keyFile', async () => keyOf(await listener().pki.server('other'))),
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
        rmSync(listener().own.certificateFile);
      },
    ],
    [
      'VALISE_TLS_CERTIFICATE_FILE',
      'a directory',
      () => {
        rmSync(listener().own.certificateFile);
        mkdirSync(listener().own.certificateFile);
      },
    ],
    ['VALISE_TLS_CLIENT_CA_FILE', 'nothing', replacing('caFile', () => '')],
    [
      'VALISE_TLS_CLIENT_CA_FILE',
      'a damaged one',
      replacing('caFile', () => `${listener().pki.authority.pem}${damaged()}`),
    ],
    [
      'VALISE_TLS_CLIENT_CA_FILE',
      'no authority',
      replacing('caFile', () => readFileSync(listener().own.certificateFile, 'utf8')),
    ],
    [
      'VALISE_TLS_CLIENT_CA_FILE',
      'an authority and what is none',
      replacing('caFile', () => {
        const { own, pki } = listener();
        return readFileSync(pki.caFile, 'utf8') + readFileSync(own.certificateFile, 'utf8');
      }),
    ],
    [
      'VALISE_TLS_CLIENT_CA_FILE',
      'no root',
      replacing('caFile', async () => (await TestAuthority.create('CN=Below', listener().pki.authority)).pem),
    ],
    ['VALISE_TLS_REVOCATION_FILE', 'garbage', replacing('revocationFile', () => 'hunter2')],
    [
      'VALISE_TLS_REVOCATION_FILE',
      'one of a stranger',
      async () => listener().pki.writeLists([[await TestAuthority.create('CN=Stranger'), {}]]),
    ],
    [
      'VALISE_TLS_REVOCATION_FILE',
      'one of a namesake',
      async () => listener().pki.writeLists([[await TestAuthority.create(), {}]]),
    ],
    [
      'VALISE_TLS_REVOCATION_FILE',
      'an authority without a list',
      async () => {
        listener().pki.writeAuthorities([listener().pki.authority, await TestAuthority.create('CN=Next')]);
      },
    ],
  ])('stay in force while %s holds %s: nothing of the new set is taken', async (setting, _, spoil) => {
    await listener().pki.revoke();
    await listener().listenWithLists();
    const worker = await listener().pki.worker('w-1');
    const live = await listener().open(worker);
    expect(await live.ask()).toBe(200);
    // What is good in the same set is not taken either.
    if (setting !== 'VALISE_TLS_REVOCATION_FILE') await listener().pki.revoke(worker);
    await spoil();
    await listener().timer.reload();
    expect(listener().facts.reloads.certificates).toEqual({ succeeded: 0, failed: 1, failing: true });
    expect([await live.ask(), await listener().ask(worker)]).toEqual([200, 200]);
    const [line] = listener().lines.filter((text) => text.includes('reload_failed'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ level: 50, set: 'certificates', setting });
    expect(listener().lines.join('')).not.toMatch(/hunter2|BEGIN|Stranger|Below/);
    live.close();
  });

  it('are renewed while another set of files is bad', async () => {
    await listener().pki.revoke();
    await listener().listenWithLists();
    const operators = { refresh: () => Promise.reject(new ValiseError('configuration_invalid')) };
    const { facts } = listener().transport;
    const both = new ReloadTimer(
      { certificates: listener().transport, operators },
      facts,
      pino({ enabled: false }),
    );
    const worker = await listener().pki.worker('w-1');
    await both.reload();
    await listener().pki.revoke(worker);
    await both.reload();
    expect(await listener().ask(worker)).toBe('closed');
    expect([facts.reloads.operators.failing, facts.reloads.certificates.failing]).toEqual([true, false]);
  });

  it('say once that they are bad, and that they are good again', async () => {
    await listener().listen();
    const key = readFileSync(listener().own.keyFile);
    replaceFile(listener().own.keyFile, 'garbage');
    listener().timer.start(10, () => undefined);
    await listener().until('three tries', () => listener().facts.reloads.certificates.failed > 2);
    expect(listener().events).toEqual(['reload_failed']);
    replaceFile(listener().own.keyFile, key);
    await listener().until('a good set', () => !listener().facts.reloads.certificates.failing);
    expect(listener().events.at(-1)).toBe('reloaded');
  });

  it.each([
    [
      'VALISE_TLS_KEY_FILE',
      (): void => {
        replaceFile(listener().own.keyFile, 'garbage');
      },
    ],
    [
      'VALISE_TLS_CLIENT_CA_FILE',
      (): void => {
        rmSync(listener().pki.caFile);
      },
    ],
  ])('stop the start when %s is bad', async (setting, spoil) => {
    await listener().listen();
    spoil();
    expect(() => Transport.open(TRUST_DOMAIN, listener().tlsConfig(), pino({ enabled: false }))).toThrow(
      setting,
    );
  });
});

describe('a rotation of authorities', () => {
  it('trusts both, and then ends the connections of the one that is gone, and no other', async () => {
    await listener().listen();
    const next = await TestAuthority.create('CN=Next');
    const [old, young] = [await listener().pki.worker('w-1'), await listener().pki.worker('w-1', next)];
    const first = await listener().open(old);
    expect([await first.ask(), await listener().ask(young)]).toEqual([200, 'closed']);
    listener().pki.writeAuthorities([listener().pki.authority, next]);
    await listener().timer.reload();
    const second = await listener().open(young);
    expect([await first.ask(), await second.ask()]).toEqual([200, 200]);
    listener().pki.writeAuthorities([next]);
    await listener().timer.reload();
    await first.closed;
    expect([await second.ask(), await listener().ask(old)]).toEqual([200, 'closed']);
    expect(listener().facts.destroyedSockets.untrusted).toBe(1);
    second.close();
  });

  it('tells apart two authorities of one name', async () => {
    await listener().listen();
    const namesake = await TestAuthority.create();
    const first = await listener().open(await listener().pki.worker('w-1'));
    listener().pki.writeAuthorities([namesake]);
    await listener().timer.reload();
    await first.closed;
    expect(await listener().ask(await listener().pki.worker('w-1', namesake))).toBe(200);
  });
});

const keyOf = ({ keyFile }: TestIdentity): string => readFileSync(keyFile, 'utf8');

/** A PEM block of the right kind around other bytes. */
const damaged = (): string => pem('CERTIFICATE', Buffer.from('3003020100', 'hex'));

/** Control's certificate is another one, with its key, which lasts this long. */
async function renewWith(fromMs: number, toMs: number): Promise<void> {
  const lifetime = { notBefore: new Date(Date.now() + fromMs), notAfter: new Date(Date.now() + toMs) };
  listener().pki.replace(listener().own, await listener().pki.server('renewed', lifetime));
}
