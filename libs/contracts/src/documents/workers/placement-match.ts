import { satisfies } from 'semver';
import {
  effectivePlacement,
  normalizePlacement,
  type Placement,
  type RequiredPlatform,
} from './placement.js';
import type { Labels } from './platform.js';
import { parseCapabilities, type WorkerCapabilities } from './worker-capabilities.js';

/** Protocol versions that control speaks. */
export const PROTOCOL_RANGE = '>=1.0.0 <2.0.0';

/** In the order in which they are reported. */
export type PlacementMismatch =
  | 'worker_unavailable'
  | 'support_tier'
  | 'protocol_version'
  | 'architecture'
  | 'operating_system'
  | 'executor'
  | 'runtime'
  | 'label'
  | 'memory'
  | 'disk'
  | 'gpu'
  | 'feature';

interface ObservedWorker {
  readonly status: string;
  readonly availableSlots: number;
  readonly leaseExpiresAtMs: number;
  readonly operatorLabels?: Labels;
}

/** A worker as its newest session shows it; `operatorLabels` win over what the worker says of itself. */
export interface PlacementWorker extends ObservedWorker {
  readonly capabilitiesJson: string;
}

export interface PlacementMatch {
  readonly matches: boolean;
  /** Sum of the weights of the preferences that match, also when a requirement does not. */
  readonly score: number;
  readonly mismatches: readonly PlacementMismatch[];
}

/**
 * Whether a worker fits a placement at `observedAtMs`, and how well. Without a placement it is the default one.
 * @throws ValiseError PLACEMENT_INVALID or WORKER_CAPABILITIES_INVALID
 */
export function evaluatePlacement(facts: {
  readonly worker: PlacementWorker;
  readonly placement?: Placement | undefined;
  readonly observedAtMs: number;
}): PlacementMatch {
  const { worker, placement, observedAtMs } = facts;
  return matchPlacement({
    worker: { ...worker, capabilities: parseCapabilities(worker.capabilitiesJson) },
    placement: placement ? normalizePlacement(placement) : effectivePlacement({}),
    observedAtMs,
  });
}

/** The same for a worker whose capabilities have been parsed, and a placement that has been normalized. */
export function matchPlacement(facts: {
  readonly worker: ObservedWorker & { readonly capabilities: WorkerCapabilities };
  readonly placement: Placement;
  readonly observedAtMs: number;
}): PlacementMatch {
  const { worker, placement, observedAtMs } = facts;
  const { capabilities } = worker;
  const { required = {}, preferred = [] } = placement;
  const labels = { ...capabilities.labels, ...worker.operatorLabels };
  const tests: Readonly<Record<PlacementMismatch, boolean>> = {
    worker_unavailable:
      worker.status === 'online' && worker.availableSlots > 0 && worker.leaseExpiresAtMs > observedAtMs,
    ...testPlatform(required, capabilities),
    label: hasLabels(required.labels ?? {}, labels),
    ...testCapacity(required, capabilities),
  };
  const mismatches = ORDER.filter((mismatch) => !tests[mismatch]);
  const score = preferred.reduce(
    (sum, preference) => sum + (hasLabels(preference.labels, labels) ? preference.weight : 0),
    0,
  );
  return { matches: mismatches.length === 0, score, mismatches };
}

const ORDER: readonly PlacementMismatch[] = [
  'worker_unavailable',
  'support_tier',
  'protocol_version',
  'architecture',
  'operating_system',
  'executor',
  'runtime',
  'label',
  'memory',
  'disk',
  'gpu',
  'feature',
];

type PlatformMismatch =
  | 'support_tier'
  | 'protocol_version'
  | 'architecture'
  | 'operating_system'
  | 'executor'
  | 'runtime'
  | 'feature';

function testPlatform(
  required: RequiredPlatform,
  worker: WorkerCapabilities,
): Readonly<Record<PlatformMismatch, boolean>> {
  const { operatingSystem, runtimes = [], features = [] } = worker;
  return {
    support_tier: isAny(worker.supportTier, required.supportTiers, ['tier1']),
    protocol_version:
      inRange(worker.protocolVersion, PROTOCOL_RANGE) &&
      inRange(worker.protocolVersion, required.protocolVersionRange),
    architecture: isAny(worker.architecture, required.architectures),
    operating_system: isAny(operatingSystem, required.operatingSystems),
    executor: hasAll(worker.executors, required.executors),
    runtime: (required.runtimes ?? []).every(({ name, versionRange }) =>
      runtimes.some((runtime) => runtime.name === name && inRange(runtime.version, versionRange)),
    ),
    feature: hasAll(features, required.features),
  };
}

function testCapacity(
  required: RequiredPlatform,
  { capacity = {} }: WorkerCapabilities,
): Readonly<Record<'memory' | 'disk' | 'gpu', boolean>> {
  const { minMemoryBytes = 0, minDiskBytes = 0, gpuVendor } = required;
  const { memoryBytes = 0, diskBytes = 0, gpu = [] } = capacity;
  return {
    memory: memoryBytes >= minMemoryBytes,
    disk: diskBytes >= minDiskBytes,
    gpu: gpuVendor === undefined || gpu.some(({ vendor }) => vendor === gpuVendor),
  };
}

/** An absent or empty list is no requirement, or the default where there is one. */
function isAny(
  value: string | undefined,
  list: readonly string[] = [],
  otherwise: readonly string[] = [],
): boolean {
  const wanted = list.length > 0 ? list : otherwise;
  return wanted.length === 0 || (value !== undefined && wanted.includes(value));
}

const hasAll = (values: readonly string[], wanted: readonly string[] = []): boolean =>
  wanted.every((value) => values.includes(value));

const hasLabels = (wanted: Labels, labels: Labels): boolean =>
  Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);

const inRange = (version: string, range = '*'): boolean =>
  satisfies(version, range, { includePrerelease: true });
