import { readFileSync } from 'node:fs';
import type { IdentityFiles } from '../../../apps/cli/src/management/management-client.js';

/** Who connects where, in PEM; without a certificate it is nobody. */
export interface WireCaller {
  readonly port: number;
  readonly ca: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** Who has this certificate, or none, at a listener whose certificate `caFile` vouches for. */
export function wireCaller(port: number, caFile: string, identity: IdentityFiles | null): WireCaller {
  return {
    port,
    ca: readFileSync(caFile),
    ...(identity && { cert: readFileSync(identity.certificateFile), key: readFileSync(identity.keyFile) }),
  };
}
