import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ExtendedKeyUsage, type JsonGeneralName } from '@peculiar/x509';
import type { Lifetime } from '../../apps/cli/src/demo/pki.js';
import type { IdentityFiles } from '../../apps/cli/src/management/management-client.js';
import { type Issued, type ListContent, pem, TestAuthority } from './test-authority.js';

/** The trust domain of every deployment under test. */
export const TRUST_DOMAIN = 'valise.test';

/** A certificate on the disk, with the serial number that a revocation list names it by. */
export interface TestIdentity extends IdentityFiles {
  readonly serialNumber: string;
}

/** An authority with its files, which issues whatever a test asks for, the wrong things included. */
export class TestPki {
  readonly caFile: string;
  /** Written by `writeLists`. */
  readonly revocationFile: string;
  private readonly revoked: string[] = [];
  private issued = 0;

  private constructor(
    private readonly directory: string,
    readonly authority: TestAuthority,
  ) {
    this.caFile = join(directory, 'ca.pem');
    this.revocationFile = join(directory, 'crl.pem');
    this.writeAuthorities([authority]);
  }

  static async create(directory: string): Promise<TestPki> {
    mkdirSync(directory, { mode: 0o700 });
    return new TestPki(directory, await TestAuthority.create());
  }

  server(name: string, lifetime?: Lifetime): Promise<TestIdentity> {
    const names: JsonGeneralName[] = [
      { type: 'dns', value: 'localhost' },
      { type: 'ip', value: '127.0.0.1' },
    ];
    return this.write(name, ExtendedKeyUsage.serverAuth, names, lifetime);
  }

  worker(workerId: string, by = this.authority): Promise<TestIdentity> {
    return this.client(`spiffe://${TRUST_DOMAIN}/worker/${workerId}`, undefined, by);
  }

  operator(operatorId: string): Promise<TestIdentity> {
    return this.client(`spiffe://${TRUST_DOMAIN}/operator/${operatorId}`);
  }

  /** A client certificate with exactly these URI SANs. */
  client(uris: string | readonly string[], lifetime?: Lifetime, by = this.authority): Promise<TestIdentity> {
    const names = [uris].flat().map((value): JsonGeneralName => ({ type: 'url', value }));
    return this.write('client', ExtendedKeyUsage.clientAuth, names, lifetime, by);
  }

  /** A client certificate that has no subject alternative name, and this common name. */
  commonName(name: string): Promise<TestIdentity> {
    return this.write(name, ExtendedKeyUsage.clientAuth, []);
  }

  /** Trusts exactly these from now on, in one act. */
  writeAuthorities(authorities: readonly TestAuthority[]): void {
    replaceFile(this.caFile, authorities.map(({ pem: text }) => text).join(''));
  }

  /** Lays one revocation list of each of these authorities, in one act. */
  async writeLists(lists: readonly (readonly [TestAuthority, ListContent])[]): Promise<void> {
    const texts = lists.map(async ([authority, content]) => pem('X509 CRL', await authority.list(content)));
    replaceFile(this.revocationFile, (await Promise.all(texts)).join(''));
  }

  /** Lays the list of this authority alone: it revokes these and all that were revoked before. */
  revoke(...identities: readonly TestIdentity[]): Promise<void> {
    this.revoked.push(...identities.map(({ serialNumber }) => serialNumber));
    return this.writeLists([[this.authority, { revoked: this.revoked }]]);
  }

  /** Puts the identity where another one lies. */
  replace({ certificateFile, keyFile }: IdentityFiles, by: TestIdentity): TestIdentity {
    replaceFile(certificateFile, readFileSync(by.certificateFile));
    replaceFile(keyFile, readFileSync(by.keyFile));
    return { certificateFile, keyFile, serialNumber: by.serialNumber };
  }

  private async write(
    name: string,
    usage: ExtendedKeyUsage,
    names: JsonGeneralName[],
    lifetime?: Lifetime,
    by = this.authority,
  ): Promise<TestIdentity> {
    const issued = await by.issue({ commonName: name, usage, names, ...(lifetime && { lifetime }) });
    this.issued += 1;
    const files = {
      certificateFile: join(this.directory, `${name}-${this.issued}.pem`),
      keyFile: join(this.directory, `${name}-${this.issued}-key.pem`),
    };
    writeIdentity(files, issued);
    return { ...files, serialNumber: issued.serialNumber };
  }
}

function writeIdentity({ certificateFile, keyFile }: IdentityFiles, { certificate, key }: Issued): void {
  replaceFile(certificateFile, certificate);
  replaceFile(keyFile, key);
}

/** Puts the file there whole, in place of the one that was there. */
export function replaceFile(path: string, content: string | Buffer): void {
  writeFileSync(`${path}.new`, content, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}
