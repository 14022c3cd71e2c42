import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { parseSpiffeId } from '@valise/contracts/documents';
import { invalidSetting } from '@valise/contracts/settings';
import type { WorkerConfig } from '../config/worker-config.js';

/** The identity that the process started with. */
export const WORKER_IDENTITY = Symbol('WORKER_IDENTITY');

/** Who the worker is and what it proves it with. */
export interface WorkerIdentity {
  readonly workerId: string;
  readonly certificate: Buffer;
  readonly key: Buffer;
  readonly authority: Buffer;
  /** When the certificate ends, in milliseconds since 1970. */
  readonly notAfterMs: number;
}

/**
 * Reads certificate, key and authority as they are on the disk now.
 * @throws ValiseError configuration_invalid when one cannot be read, others may read the key, key and certificate do
 * not match, or the certificate does not name exactly one worker
 */
export async function readIdentity(config: WorkerConfig): Promise<WorkerIdentity> {
  const certificate = await readSetting('VALISE_TLS_CERTIFICATE_FILE', config.certificateFile);
  const key = await readSetting('VALISE_TLS_KEY_FILE', config.keyFile);
  const authority = await readSetting('VALISE_TLS_CA_FILE', config.authorityFile);
  const { mode } = await stat(config.keyFile);
  if ((mode & 0o007) !== 0) throw invalidSetting('VALISE_TLS_KEY_FILE', 'must not be readable for others');
  try {
    createSecureContext({ cert: certificate, key, ca: authority });
  } catch {
    throw invalidSetting('VALISE_TLS_KEY_FILE', 'must fit certificate and authority');
  }
  const notAfterMs = Date.parse(new X509Certificate(certificate).validTo);
  return { workerId: workerIdOf(certificate), certificate, key, authority, notAfterMs };
}

/** The worker named by the certificate's one URI SAN. */
export function workerIdOf(certificate: Buffer): string {
  const identity = parseSpiffeId(new X509Certificate(certificate).subjectAltName);
  if (identity?.kind !== 'worker')
    throw invalidSetting('VALISE_TLS_CERTIFICATE_FILE', 'must name exactly one worker');
  return identity.id;
}

async function readSetting(setting: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch {
    throw invalidSetting(setting, 'names a file that cannot be read');
  }
}
