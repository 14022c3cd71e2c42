import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const LIFETIME_MS = 3_600_000;

export interface KeyAndCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** A certificate authority that lives as long as a test. */
export class TestAuthority {
  private constructor(
    private readonly keys: webcrypto.CryptoKeyPair,
    private readonly root: x509.X509Certificate,
  ) {}

  static async create(): Promise<TestAuthority> {
    x509.cryptoProvider.set(webcrypto);
    const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
    const root = await x509.X509CertificateGenerator.createSelfSigned({
      name: 'CN=test authority',
      ...validity(),
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
    });
    return new TestAuthority(keys, root);
  }

  get certificate(): string {
    return this.root.toString('pem');
  }

  async issue(names: x509.JsonGeneralNames, endsInMs = LIFETIME_MS): Promise<KeyAndCertificate> {
    const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
    const certificate = await x509.X509CertificateGenerator.create({
      subject: 'CN=test',
      issuer: this.root.subject,
      ...validity(endsInMs),
      publicKey: keys.publicKey,
      signingKey: this.keys.privateKey,
      signingAlgorithm: ALGORITHM,
      extensions: [new x509.SubjectAlternativeNameExtension(names)],
    });
    const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
    const key = `-----BEGIN PRIVATE KEY-----\n${pkcs8.toString('base64')}\n-----END PRIVATE KEY-----\n`;
    return { certificate: certificate.toString('pem'), key };
  }
}

function validity(endsInMs = LIFETIME_MS): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(Date.now() - LIFETIME_MS), notAfter: new Date(Date.now() + endsInMs) };
}
