import { ExtendedKeyUsage } from '@peculiar/x509';
import type { Issued, TestAuthority } from '../../../test/support/test-authority.js';

const HOUR_MS = 3_600_000;

/** Of a control on this machine. */
export function issueControl(authority: TestAuthority): Promise<Issued> {
  return authority.issue({
    commonName: 'control',
    usage: ExtendedKeyUsage.serverAuth,
    names: [{ type: 'ip', value: '127.0.0.1' }],
  });
}

export function issueWorker(
  authority: TestAuthority,
  workerId = 'worker-1',
  endsInMs = HOUR_MS,
): Promise<Issued> {
  const nowMs = Date.now();
  return authority.issue({
    commonName: 'worker',
    usage: ExtendedKeyUsage.clientAuth,
    names: [{ type: 'url', value: `spiffe://test/worker/${workerId}` }],
    lifetime: { notBefore: new Date(nowMs - HOUR_MS), notAfter: new Date(nowMs + endsInMs) },
  });
}
