import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { invalidSetting, RuleBroken } from '@valise/contracts/settings';
import type { TlsConfig } from '../config/control-config.js';
import type { ContentOf } from '../config/live-files.js';
import { pemDocuments } from './pem.js';
import { readRevocationLists, type RevocationLists } from './revocation-list.js';

/** What control proves itself with, and what it judges its callers by; all of it fits together. */
export interface Credentials {
  /** Control's certificate and what leads to its authority, PEM. */
  readonly certificate: Buffer;
  readonly key: Buffer;
  readonly notAfterMs: number;
  readonly authorities: readonly X509Certificate[];
  /** Null where the operator configured none: then certificates end by their validity alone. */
  readonly revocation: RevocationLists | null;
}

const CERTIFICATE = 'VALISE_TLS_CERTIFICATE_FILE';
const KEY = 'VALISE_TLS_KEY_FILE';
const CLIENT_CA = 'VALISE_TLS_CLIENT_CA_FILE';
const REVOCATION = 'VALISE_TLS_REVOCATION_FILE';

/** The files by the settings that name them. */
export function credentialFiles(files: TlsConfig): ReadonlyMap<string, string> {
  return new Map([
    [CERTIFICATE, files.certificateFile],
    [KEY, files.keyFile],
    [CLIENT_CA, files.clientCaFile],
    ...(files.revocationFile === null ? [] : [[REVOCATION, files.revocationFile] as const]),
  ]);
}

/**
 * The credentials in these files. A list that is past its nextUpdate is taken: what follows from that is decided for
 * each request, so that it neither stops a start nor hides newer revocations.
 * @throws ValiseError configuration_invalid when one is malformed or does not fit the others, or when control's own
 * certificate is not valid now
 */
export function parseCredentials(contentOf: ContentOf, files: TlsConfig, nowMs: number): Credentials {
  const certificate = contentOf(CERTIFICATE);
  const key = contentOf(KEY);
  const notAfterMs = within(CERTIFICATE, () => endOfOwn(certificate, nowMs));
  within(KEY, () => {
    assertKeyOf(certificate, key);
  });
  const authorities = within(CLIENT_CA, () => parseAuthorities(contentOf(CLIENT_CA)));
  const revocation =
    files.revocationFile === null
      ? null
      : within(REVOCATION, () => readRevocationLists(contentOf(REVOCATION), authorities));
  return { certificate, key, notAfterMs, authorities, revocation };
}

/** Names the setting of a rule that its file breaks; what else is thrown may quote the file and stays inside. */
function within<T>(setting: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalidSetting(setting, error instanceof RuleBroken ? error.message : 'cannot be understood');
  }
}

function endOfOwn(pem: Buffer, nowMs: number): number {
  const [own] = pemDocuments(pem.toString('latin1'), 'CERTIFICATE').map((der) => new X509Certificate(der));
  const notAfterMs = Date.parse(own?.validTo ?? '');
  if (!own || !(Date.parse(own.validFrom) <= nowMs && nowMs < notAfterMs))
    throw new RuleBroken('must hold a certificate that is valid now');
  return notAfterMs;
}

function assertKeyOf(certificate: Buffer, key: Buffer): void {
  if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)))
    throw new RuleBroken('must be the private key of the certificate');
  createSecureContext({ cert: certificate, key });
}

function parseAuthorities(pem: Buffer): readonly X509Certificate[] {
  const authorities = pemDocuments(pem.toString('latin1'), 'CERTIFICATE').map(
    (der) => new X509Certificate(der),
  );
  if (!authorities.every(({ ca }) => ca)) throw new RuleBroken('must hold certificates of authorities only');
  // OpenSSL trusts no path that ends below a root.
  if (!authorities.some((authority) => authority.checkIssued(authority)))
    throw new RuleBroken('must hold a self-signed authority');
  return authorities;
}
