import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
  type Extension,
  type JsonGeneralName,
  type X509Certificate,
} from '@peculiar/x509';
import type { IdentityFiles } from '../management/management-client.js';

export interface Pki {
  /** The authority that every side trusts; its private key is in no file. */
  readonly caFile: string;
  readonly control: IdentityFiles;
  readonly worker: IdentityFiles;
  readonly operator: IdentityFiles;
}

/** When a certificate is valid. */
export interface Lifetime {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const LIFETIME_MS = 24 * 60 * 60 * 1000;

/**
 * Issues one throw-away certificate for each side into `directory`, all from an authority whose key is forgotten: no
 * further certificate can ever be made.
 */
export async function createPki(
  directory: string,
  names: { readonly trustDomain: string; readonly workerId: string; readonly operatorId: string },
): Promise<Pki> {
  mkdirSync(directory, { mode: 0o700 });
  const authority = await Authority.create();
  const caFile = join(directory, 'ca.pem');
  writeFileSync(caFile, authority.certificate.toString('pem'), { mode: 0o600 });
  const issue = async (
    name: string,
    usage: ExtendedKeyUsage,
    subject: JsonGeneralName[],
  ): Promise<IdentityFiles> => {
    const files = {
      certificateFile: join(directory, `${name}.pem`),
      keyFile: join(directory, `${name}-key.pem`),
    };
    const issued = await authority.issue(name, usage, subject);
    writeFileSync(files.certificateFile, issued.certificate, { mode: 0o600 });
    writeFileSync(files.keyFile, issued.key, { mode: 0o600 });
    return files;
  };
  const spiffe = (path: string): JsonGeneralName[] => [
    { type: 'url', value: `spiffe://${names.trustDomain}/${path}` },
  ];
  return {
    caFile,
    control: await issue('control', ExtendedKeyUsage.serverAuth, [
      { type: 'dns', value: 'localhost' },
      { type: 'ip', value: '127.0.0.1' },
    ]),
    worker: await issue('worker', ExtendedKeyUsage.clientAuth, spiffe(`worker/${names.workerId}`)),
    operator: await issue('operator', ExtendedKeyUsage.clientAuth, spiffe(`operator/${names.operatorId}`)),
  };
}

/** A certificate authority whose key lives in this process only. */
export class Authority {
  private constructor(
    readonly certificate: X509Certificate,
    private readonly keys: webcrypto.CryptoKeyPair,
  ) {}

  static async create(): Promise<Authority> {
    cryptoProvider.set(webcrypto);
    const keys = await newKeys();
    const certificate = await X509CertificateGenerator.createSelfSigned({
      ...lifetimeFromNow(),
      serialNumber: newSerial(),
      name: 'CN=Valise demo authority',
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    return new Authority(certificate, keys);
  }

  /** A certificate and its new private key, both as PEM. */
  async issue(
    name: string,
    usage: ExtendedKeyUsage,
    subject: JsonGeneralName[],
    lifetime: Lifetime = lifetimeFromNow(),
  ): Promise<{ certificate: string; key: string }> {
    const keys = await newKeys();
    const extensions: Extension[] = [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([usage]),
      new SubjectAlternativeNameExtension(subject),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(this.keys.publicKey),
    ];
    const certificate = await X509CertificateGenerator.create({
      ...lifetime,
      serialNumber: newSerial(),
      subject: `CN=${name}`,
      issuer: this.certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.keys.privateKey,
      signingAlgorithm: ALGORITHM,
      extensions,
    });
    return { certificate: certificate.toString('pem'), key: await privateKeyPem(keys.privateKey) };
  }
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

async function privateKeyPem(key: webcrypto.CryptoKey): Promise<string> {
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  const lines = pkcs8.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----', ''].join('\n');
}

/** From a minute ago, for clocks that differ a little, to a day from now. */
function lifetimeFromNow(): Lifetime {
  return { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + LIFETIME_MS) };
}

/** Positive and unpredictable (RFC 5280 §4.1.2.2). */
function newSerial(): string {
  const serial = randomBytes(16);
  serial[0] = (serial.readUInt8(0) & 0x7f) | 0x40;
  return serial.toString('hex');
}
