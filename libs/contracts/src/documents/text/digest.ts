import { createHash } from 'node:crypto';

export const DIGEST = /^[0-9a-f]{64}$/;

/** SHA-256 over the parts in order (texts as UTF-8), in lower-case hex. */
export function sha256Hex(...parts: (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}
