import 'reflect-metadata';
import { KeyObject, randomBytes, sign, webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  cryptoProvider,
  type ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
  X509CrlGenerator,
  type JsonGeneralName,
  type X509Certificate,
} from '@peculiar/x509';
import type { Lifetime } from '../../apps/cli/src/demo/pki.js';

const ECDSA = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const RSA = {
  name: 'RSASSA-PKCS1-v1_5',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: 'SHA-256',
} as const;
const DAY_MS = 24 * 60 * 60 * 1000;

export interface Issued {
  /** PEM. */
  readonly certificate: string;
  /** PKCS #8, PEM. */
  readonly key: string;
  readonly serialNumber: string;
}

export interface Wanted {
  readonly commonName: string;
  readonly usage: ExtendedKeyUsage;
  readonly names: JsonGeneralName[];
  readonly lifetime?: Lifetime;
  /** Without it nothing but the signature tells authorities of one name apart. */
  readonly namesItsAuthoritysKey?: boolean;
}

export interface ListContent {
  readonly revoked?: readonly string[];
  readonly thisUpdate?: Date;
  /** null leaves it out. */
  readonly nextUpdate?: Date | null;
  readonly extensions?: Extension[];
}

/** An authority that issues certificates and revocation lists, the wrong ones included. */
export class TestAuthority {
  private constructor(
    readonly certificate: X509Certificate,
    private readonly keys: webcrypto.CryptoKeyPair,
    private readonly algorithm: typeof ECDSA | typeof RSA,
  ) {}

  /** A root, or an authority below `issuer`. */
  static async create(
    name = 'CN=Valise test authority',
    issuer?: TestAuthority,
    algorithm: typeof ECDSA | typeof RSA = ECDSA,
  ): Promise<TestAuthority> {
    cryptoProvider.set(webcrypto);
    const keys = await newKeys(algorithm);
    const certificate = await X509CertificateGenerator.create({
      ...lifetimeFromNow(),
      serialNumber: newSerial(),
      subject: name,
      issuer: issuer?.certificate.subject ?? name,
      publicKey: keys.publicKey,
      signingKey: (issuer?.keys ?? keys).privateKey,
      signingAlgorithm: issuer?.algorithm ?? algorithm,
      extensions: [
        new BasicConstraintsExtension(true, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    return new TestAuthority(certificate, keys, algorithm);
  }

  static rsa(name?: string): Promise<TestAuthority> {
    return TestAuthority.create(name, undefined, RSA);
  }

  get pem(): string {
    return `${this.certificate.toString('pem')}\n`;
  }

  async issue(wanted: Wanted): Promise<Issued> {
    const { commonName, usage, names, lifetime = lifetimeFromNow(), namesItsAuthoritysKey = true } = wanted;
    const keys = await newKeys(ECDSA);
    const serialNumber = newSerial();
    const certificate = await X509CertificateGenerator.create({
      ...lifetime,
      serialNumber,
      subject: `CN=${commonName}`,
      issuer: this.certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.keys.privateKey,
      signingAlgorithm: this.algorithm,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([usage]),
        ...(names.length > 0 ? [new SubjectAlternativeNameExtension(names)] : []),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
        ...(namesItsAuthoritysKey ? [await AuthorityKeyIdentifierExtension.create(this.keys.publicKey)] : []),
      ],
    });
    const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
    return {
      certificate: `${certificate.toString('pem')}\n`,
      key: pem('PRIVATE KEY', key),
      serialNumber,
    };
  }

  /** A revocation list of this authority in DER; good for a day unless it says otherwise. */
  async list(content: ListContent = {}): Promise<Buffer> {
    const { revoked = [], thisUpdate = new Date(Date.now() - 60_000), extensions = [] } = content;
    const { nextUpdate = new Date(Date.now() + DAY_MS) } = content;
    const list = await X509CrlGenerator.create({
      issuer: this.certificate.subject,
      thisUpdate,
      ...(nextUpdate && { nextUpdate }),
      entries: revoked.map((serialNumber) => ({ serialNumber, revocationDate: thisUpdate })),
      extensions,
      signingAlgorithm: this.algorithm,
      signingKey: this.keys.privateKey,
    });
    return Buffer.from(list.rawData);
  }

  /** A list (of an ECDSA authority) around entries in DER: its generator needs minutes for very many. */
  listAround(entries: Buffer): Buffer {
    const algorithm = der(0x30, Buffer.from('06082a8648ce3d040302', 'hex'));
    const times = ['261101000000Z', '361101000000Z'].map((time) => der(0x17, Buffer.from(time)));
    const issuer = Buffer.from(this.certificate.subjectName.toArrayBuffer());
    const body = der(0x30, algorithm, issuer, ...times, der(0x30, entries));
    const signature = sign('sha256', body, KeyObject.from(this.keys.privateKey));
    return der(0x30, body, algorithm, der(0x03, Buffer.from([0]), signature));
  }
}

/** One DER element. */
export function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.concat(content);
  if (bytes.length < 0x80) return Buffer.from([tag, bytes.length, ...bytes]);
  const length = Buffer.from(bytes.length.toString(16).replace(/^(?=(..)*.$)/, '0'), 'hex');
  return Buffer.concat([Buffer.from([tag, 0x80 + length.length]), length, bytes]);
}

export function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}

function newKeys(algorithm: typeof ECDSA | typeof RSA): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

function lifetimeFromNow(): Lifetime {
  return { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + DAY_MS) };
}

/** Positive and unpredictable (RFC 5280 §4.1.2.2). */
function newSerial(): string {
  const serial = randomBytes(16);
  serial[0] = (serial.readUInt8(0) & 0x7f) | 0x40;
  return serial.toString('hex');
}
