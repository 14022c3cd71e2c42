import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { ValiseError } from '@valise/contracts/failure';
import { WORKER_ID } from '@valise/contracts/wire';
import type { WorkerConfig } from '../config/worker-config.js';

/** Who the worker is and what it proves it with. */
export interface WorkerIdentity {
  readonly workerId: string;
  readonly certificate: Buffer;
  readonly key: Buffer;
  readonly authority: Buffer;
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
  if ((mode & 0o007) !== 0) throw invalid('VALISE_TLS_KEY_FILE', 'not_for_others');
  try {
    createSecureContext({ cert: certificate, key, ca: authority });
  } catch {
    throw invalid('VALISE_TLS_KEY_FILE', 'certificate_key_and_authority_fit');
  }
  return { workerId: workerIdOf(certificate), certificate, key, authority };
}

/** The worker named by the certificate's one URI SAN, `spiffe://<trust domain>/worker/<workerId>`. */
export function workerIdOf(certificate: Buffer): string {
  const names = new X509Certificate(certificate).subjectAltName?.split(', ') ?? [];
  const [uri, ...more] = names.filter((name) => name.startsWith('URI:'));
  const workerId = /^URI:spiffe:\/\/[a-z0-9._-]+\/worker\/([^/]+)$/.exec(uri ?? '')?.[1];
  if (more.length > 0 || workerId === undefined || !WORKER_ID.test(workerId)) {
    throw invalid('VALISE_TLS_CERTIFICATE_FILE', 'names_one_worker');
  }
  return workerId;
}

async function readSetting(setting: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch {
    throw invalid(setting, 'readable_file');
  }
}

const invalid = (setting: string, rule: string): ValiseError =>
  new ValiseError('configuration_invalid', { setting, rule });
