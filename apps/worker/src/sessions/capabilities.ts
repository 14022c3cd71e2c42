import { arch } from 'node:os';
import { writeCapabilities, type WorkerCapabilities } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';

const PLATFORMS: Readonly<Record<string, Pick<WorkerCapabilities, 'architecture' | 'supportTier'>>> = {
  x64: { architecture: 'amd64', supportTier: 'tier1' },
  arm64: { architecture: 'arm64', supportTier: 'tier1' },
  ppc64: { architecture: 'ppc64le', supportTier: 'candidate' },
  s390x: { architecture: 's390x', supportTier: 'candidate' },
};

/**
 * The canonical capabilities of this machine. They hold only what stays the same when the worker restarts: a session
 * is registered again with the same ones.
 */
export function capabilitiesJson(): string {
  const platform = PLATFORMS[arch()];
  if (!platform) throw new ValiseError('configuration_invalid', { rule: 'architecture_supported' });
  return writeCapabilities({
    architecture: platform.architecture,
    executors: ['remote-worker'],
    protocolVersion: '1.0.0',
    supportTier: platform.supportTier,
    operatingSystem: 'linux',
  });
}
