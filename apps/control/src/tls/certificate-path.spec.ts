import { X509Certificate } from 'node:crypto';
import { ExtendedKeyUsage } from '@peculiar/x509';
import { TestAuthority } from '../../../../test/support/test-authority.js';
import { pathTo } from './certificate-path.js';

async function issuedBy(authority: TestAuthority): Promise<X509Certificate> {
  const { certificate } = await authority.issue({
    commonName: 'w-1',
    usage: ExtendedKeyUsage.clientAuth,
    names: [],
    namesItsAuthoritysKey: false,
  });
  return new X509Certificate(certificate);
}

describe('the path of a certificate', () => {
  it('leads to the authority that signed it, whoever else bears its name', async () => {
    const [authority, namesake] = [await TestAuthority.create(), await TestAuthority.create()];
    const trusted = [namesake, authority].map(({ pem }) => new X509Certificate(pem));
    const leaf = await issuedBy(authority);
    expect(pathTo(trusted, leaf)).toEqual([{ certificate: leaf, issuer: trusted[1] }]);
    expect(pathTo(trusted.slice(0, 1), leaf)).toBeNull();
  });
});
