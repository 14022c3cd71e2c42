import {
  compileExecutionRevision,
  createSecretReference,
  createTaskDefinition,
  createTaskRevisionRef,
  logArtifactId,
  normalizeCommandSpec,
  sha256Hex,
  writeCapabilities,
} from '../documents/index.js';

/** Identifiers that the examples share, so that together they tell one run of one task. */
export const projectId = 'billing';
export const taskId = 'nightly-report';
export const runId = '018f6b1c-3a00-7000-8000-000000000001';
export const attemptId = '018f6b1c-3a00-7000-8000-000000000002';
export const workerId = 'worker-eu-1';
export const sessionId = '018f6b1c-0000-7000-8000-000000000003';
export const offerId = '5d3c1f8e-1c44-4e0b-9f0e-2f7a3f4f9a10';
export const mutationId = '018f6b1c-2000-7000-8000-000000000004';
export const recordId = '018f6b1c-3a00-7000-8000-000000000005';
export const requestId = '018f6b1c-3a00-7000-8000-000000000006';

export const atMs = 1_717_200_000_000;
export const artifactSha256 = sha256Hex('log');
export const callbackTokenDigest = sha256Hex('callback token');
export const artifactId = logArtifactId({ projectId, runId, attemptId, offerId });

export const secretRef = createSecretReference({ projectId, name: 'database-password' });
export const environmentBundleRef = createSecretReference({ projectId, name: 'environment', version: 3 });

export const spec = normalizeCommandSpec({
  projectId,
  taskId,
  kind: 'command',
  spec: {
    schema: 'qinglong/command@v1',
    config: {
      command: { kind: 'argv', file: '/usr/local/bin/report', args: ['--month', 'May'] },
      environment: [{ name: 'DATABASE_PASSWORD', kind: 'secret', secretRef }],
      environmentBundleRef,
      timeoutMs: 600_000,
    },
  },
});

const definition = createTaskDefinition(
  {
    projectId,
    taskId,
    expectedRevision: null,
    mutationId,
    name: 'Nightly report',
    kind: 'command',
    spec,
    labels: { team: 'finance' },
    enabled: true,
    occurredAtMs: atMs,
  },
  atMs,
);

export const contentDigest = definition.contentDigest;
export const taskRevision = createTaskRevisionRef(definition.revision, contentDigest);
export const executionRevision = compileExecutionRevision(definition);
export const executionDigest = executionRevision.contentDigest;

export const capabilitiesJson = writeCapabilities({
  architecture: 'amd64',
  executors: ['remote-worker'],
  protocolVersion: '1.0.0',
  supportTier: 'tier1',
  operatingSystem: 'linux',
});

export const fence = {
  runId,
  attemptId,
  workerGeneration: 1,
  offerId,
  leaseGeneration: 1,
  leaseToken: 'kq3v9cQ0mX2b7YwzT1nRj4sLhUeFpA8dGi5oKVxZB6M',
  expectedLeaseVersion: 4,
};

export const receipt = {
  logArtifactId: artifactId,
  byteLength: 2048,
  sha256: artifactSha256,
  truncated: false,
};
