import { X509Certificate } from 'node:crypto';
import { ExtendedKeyUsage, Extension } from '@peculiar/x509';
import { RuleBroken } from '@valise/contracts/settings';
import {
  der,
  type Issued,
  type ListContent,
  pem,
  TestAuthority,
} from '../../../../test/support/test-authority.js';
import { type RevocationList, readRevocationLists, serialOf } from './revocation-list.js';

let authority: TestAuthority;
let trusted: X509Certificate;

beforeAll(async () => {
  authority = await TestAuthority.create();
  trusted = new X509Certificate(authority.pem);
});

async function read(content: ListContent = {}): Promise<RevocationList | undefined> {
  return readRevocationLists(await authority.list(content), [trusted]).get(trusted);
}

function refusal(bytes: Buffer, authorities = [trusted]): string | null {
  try {
    readRevocationLists(bytes, authorities);
    return null;
  } catch (error) {
    if (error instanceof RuleBroken) return error.message;
    throw error;
  }
}

const issue = (by: TestAuthority): Promise<Issued> =>
  by.issue({ commonName: 'worker', usage: ExtendedKeyUsage.clientAuth, names: [] });

describe('a revocation list', () => {
  it('names the certificates that its authority has revoked, and no other', async () => {
    const [revoked, good] = [await issue(authority), await issue(authority)];
    const list = await read({ revoked: [revoked.serialNumber, '00ff', '01'] });
    expect(list?.revoked.has(serialOf(new X509Certificate(revoked.certificate)))).toBe(true);
    expect(list?.revoked.has(serialOf(new X509Certificate(good.certificate)))).toBe(false);
    expect(list?.revoked.size).toBe(3);
  });

  it('says when the next one is due, before and after 2050', async () => {
    for (const nextUpdate of [new Date('2049-12-31T23:59:59Z'), new Date('2050-01-01T00:00:00Z')]) {
      expect((await read({ nextUpdate }))?.nextUpdateMs).toBe(nextUpdate.getTime());
    }
  });

  it('is read in DER, or with others in PEM, of authorities with RSA too', async () => {
    const other = await TestAuthority.rsa('CN=Another');
    const otherTrusted = new X509Certificate(other.pem);
    const text = `a comment\n${pem('X509 CRL', await authority.list())}${pem('X509 CRL', await other.list({ revoked: ['0a'] }))}`;
    const lists = readRevocationLists(Buffer.from(text), [trusted, otherTrusted]);
    expect(lists.get(trusted)?.revoked.size).toBe(0);
    expect([...(lists.get(otherTrusted)?.revoked ?? [])]).toEqual(['a']);
  });

  it('counts only in its newest form', async () => {
    const old = await authority.list({ revoked: ['01'], thisUpdate: new Date(Date.now() - 3_600_000) });
    const young = await authority.list({ revoked: ['02'] });
    for (const order of [
      [old, young],
      [young, old],
    ]) {
      const text = order.map((der) => pem('X509 CRL', der)).join('');
      const list = readRevocationLists(Buffer.from(text), [trusted]).get(trusted);
      expect([...(list?.revoked ?? [])]).toEqual(['2']);
    }
  });

  it('of one authority says nothing of another that bears the same name', async () => {
    const namesake = await TestAuthority.create();
    const lists = readRevocationLists(
      Buffer.from(
        pem('X509 CRL', await authority.list({ revoked: ['01'] })) + pem('X509 CRL', await namesake.list()),
      ),
      [trusted, new X509Certificate(namesake.pem)],
    );
    expect([...lists.values()].map(({ revoked }) => revoked.size)).toEqual([1, 0]);
  });

  it('takes 50,000 entries in less than a second', () => {
    const date = der(0x17, Buffer.from('261130000000Z'));
    const entries = Array.from({ length: 50_000 }, (_, index) => {
      const serial = Buffer.alloc(16, 0x41);
      serial.writeUInt32BE(index, 12);
      return der(0x30, der(0x02, serial), date);
    });
    const bytes = authority.listAround(Buffer.concat(entries));
    const startedAt = performance.now();
    const list = readRevocationLists(bytes, [trusted]).get(trusted);
    expect(list?.revoked.size).toBe(50_000);
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });

  it('is refused when it is of an authority that is not trusted', async () => {
    const stranger = await TestAuthority.create('CN=Stranger');
    expect(refusal(await stranger.list())).toBe('must hold lists of the authorities only');
  });

  it('is refused when a namesake of its authority has signed it', async () => {
    const namesake = await TestAuthority.create();
    expect(refusal(await namesake.list())).toBe('must hold lists with a signature of their authority');
  });

  it('is refused when an authority has none', async () => {
    const other = new X509Certificate((await TestAuthority.create('CN=Another')).pem);
    expect(refusal(await authority.list(), [trusted, other])).toBe('must hold a list of every authority');
  });

  it('is refused without the time of the next one', async () => {
    expect(refusal(await authority.list({ nextUpdate: null }))).toBe(
      'must hold lists that say when the next one is due',
    );
  });

  it('is refused when it covers only a part, as its critical extension says', async () => {
    const delta = new Extension('2.5.29.27', true, Buffer.from('020101', 'hex'));
    expect(refusal(await authority.list({ extensions: [delta] }))).toBe(
      'must hold complete lists, without critical extensions',
    );
    const number = new Extension('2.5.29.20', false, Buffer.from('020101', 'hex'));
    expect(refusal(await authority.list({ extensions: [number] }))).toBeNull();
  });

  it.each([
    '',
    'garbage',
    pem('CERTIFICATE', Buffer.from('00', 'hex')),
    pem('X509 CRL', Buffer.from('30', 'hex')),
  ])('is refused when it is none', (text) => {
    expect(refusal(Buffer.from(text))).toMatch(/^must hold/);
  });

  it('is refused, and never misread, when any one byte of it is another', async () => {
    const list = await authority.list({ revoked: ['4a5b6c'] });
    for (const [at] of list.entries()) {
      const damaged = Buffer.from(list);
      damaged[at] = damaged.readUInt8(at) ^ 0x01;
      expect(refusal(damaged)).toMatch(/^must /);
    }
  });

  it('is refused when it ends too early or goes on', async () => {
    const list = await authority.list({ revoked: ['4a5b6c'] });
    for (let length = 0; length < list.length; length += 1) {
      expect(refusal(list.subarray(0, length))).toMatch(/^must /);
    }
    expect(refusal(Buffer.concat([list, Buffer.alloc(1)]))).toBe('must hold well-formed lists');
  });
});
