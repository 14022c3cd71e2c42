import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ExtendedKeyUsage, type JsonGeneralName } from '@peculiar/x509';
import { Authority, type IdentityFiles, type Lifetime } from '../../apps/cli/src/demo/pki.js';

/** An authority that issues whatever a test asks for, the wrong things included. */
export class TestPki {
  readonly caFile: string;
  private issued = 0;

  private constructor(
    private readonly directory: string,
    private readonly trustDomain: string,
    private readonly authority: Authority,
  ) {
    this.caFile = join(directory, 'ca.pem');
    writeFileSync(this.caFile, authority.certificate.toString('pem'), { mode: 0o600 });
  }

  static async create(directory: string, trustDomain: string): Promise<TestPki> {
    mkdirSync(directory, { mode: 0o700 });
    return new TestPki(directory, trustDomain, await Authority.create());
  }

  server(name: string): Promise<IdentityFiles> {
    const names: JsonGeneralName[] = [
      { type: 'dns', value: 'localhost' },
      { type: 'ip', value: '127.0.0.1' },
    ];
    return this.write(name, ExtendedKeyUsage.serverAuth, names);
  }

  worker(workerId: string): Promise<IdentityFiles> {
    return this.client(`spiffe://${this.trustDomain}/worker/${workerId}`);
  }

  operator(operatorId: string): Promise<IdentityFiles> {
    return this.client(`spiffe://${this.trustDomain}/operator/${operatorId}`);
  }

  /** A client certificate with exactly these URI SANs. */
  client(uris: string | readonly string[], lifetime?: Lifetime): Promise<IdentityFiles> {
    const names = [uris].flat().map((value): JsonGeneralName => ({ type: 'url', value }));
    return this.write('client', ExtendedKeyUsage.clientAuth, names, lifetime);
  }

  private async write(
    name: string,
    usage: ExtendedKeyUsage,
    names: JsonGeneralName[],
    lifetime?: Lifetime,
  ): Promise<IdentityFiles> {
    const { certificate, key } = await this.authority.issue(name, usage, names, lifetime);
    this.issued += 1;
    const files = {
      certificateFile: join(this.directory, `${name}-${this.issued}.pem`),
      keyFile: join(this.directory, `${name}-${this.issued}-key.pem`),
    };
    writeFileSync(files.certificateFile, certificate, { mode: 0o600 });
    writeFileSync(files.keyFile, key, { mode: 0o600 });
    return files;
  }
}
