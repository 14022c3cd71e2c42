import { ValiseError } from '../../failure/index.js';
import { parseJson } from '../json/json.js';
import { readList, readRecord } from '../json/plain-data.js';
import {
  readArchitecture,
  readItem,
  readItems,
  readLabels,
  readRuntimes,
  readVersion,
  TIER_OF,
  type Architecture,
  type Labels,
  type SupportTier,
} from './platform.js';
import { refusal, type Refuse } from '../refusal.js';
import { integer } from '../text/text.js';
import { utf8Bytes } from '../text/utf8.js';

export interface WorkerGpu {
  readonly vendor: string;
  readonly model?: string;
  readonly memoryBytes?: number;
}

export interface WorkerCapacity {
  readonly cpuCores?: number;
  readonly memoryBytes?: number;
  readonly diskBytes?: number;
  readonly gpu?: readonly WorkerGpu[];
}

/** What a worker says of itself when it registers, in the key order of the document (wire.md §3). */
export interface WorkerCapabilities {
  readonly architecture: Architecture;
  readonly executors: readonly string[];
  readonly protocolVersion: string;
  readonly supportTier: SupportTier;
  readonly operatingSystem?: string;
  readonly runtimes?: readonly { readonly name: string; readonly version: string }[];
  readonly labels?: Labels;
  readonly capacity?: WorkerCapacity;
  readonly features?: readonly string[];
}

const MAX_BYTES = 16 * 1024;
const MAX_CPU_CORES = 4096;
const MAX_GPUS = 8;

const refuse: Refuse = refusal('WORKER_CAPABILITIES_INVALID');

/**
 * Reads what a worker registered. Only canonical text passes: written again, it comes back byte for byte, so that its
 * digest names its content.
 * @throws ValiseError WORKER_CAPABILITIES_INVALID
 */
export function parseCapabilities(json: unknown): WorkerCapabilities {
  const capabilities = readCapabilities(parse(json));
  if (JSON.stringify(capabilities) !== json) refuse({ field: 'capabilities', rule: 'canonical' });
  return capabilities;
}

/**
 * The canonical text of the capabilities, of at most 16 KiB; its SHA-256 is the `capabilitiesHash`.
 * @throws ValiseError WORKER_CAPABILITIES_INVALID
 */
export function writeCapabilities(capabilities: WorkerCapabilities): string {
  const json = JSON.stringify(readCapabilities(capabilities));
  const actual = utf8Bytes(json);
  if (actual > MAX_BYTES) refuse({ field: 'capabilities', rule: 'max_bytes', limit: MAX_BYTES, actual });
  return json;
}

function parse(json: unknown): unknown {
  if (typeof json !== 'string') refuse({ field: 'capabilities', rule: 'string' });
  const actual = utf8Bytes(json);
  if (actual > MAX_BYTES) refuse({ field: 'capabilities', rule: 'max_bytes', limit: MAX_BYTES, actual });
  try {
    return parseJson(json);
  } catch (error) {
    if (error instanceof ValiseError) refuse(error.facts);
    throw error;
  }
}

function readCapabilities(value: unknown): WorkerCapabilities {
  const given = readRecord(
    value,
    ['architecture', 'executors', 'protocolVersion', 'supportTier'],
    ['operatingSystem', 'runtimes', 'labels', 'capacity', 'features'],
    'capabilities',
    refuse,
  );
  const { operatingSystem, runtimes, labels, capacity, features } = given;
  const architecture = readArchitecture(given.architecture, 'architecture', refuse);
  const supportTier = TIER_OF[architecture];
  const executors = readWords(given.executors, 'executors');
  const protocolVersion = readVersion(given.protocolVersion, 'protocolVersion', refuse);
  if (given.supportTier !== supportTier) refuse({ field: 'supportTier', rule: 'architecture' });
  return {
    architecture,
    executors,
    protocolVersion,
    supportTier,
    ...(operatingSystem !== undefined && {
      operatingSystem: readItem(operatingSystem, 'operatingSystem', refuse),
    }),
    ...(runtimes !== undefined && { runtimes: readWorkerRuntimes(runtimes) }),
    ...(labels !== undefined && { labels: readLabels(labels, 'labels', refuse) }),
    ...(capacity !== undefined && { capacity: readCapacity(capacity) }),
    ...(features !== undefined && { features: readWords(features, 'features') }),
  };
}

const readWords = (value: unknown, field: string): string[] =>
  readItems(value, (item, at) => readItem(item, at, refuse), field, refuse);

function readWorkerRuntimes(value: unknown): { name: string; version: string }[] {
  return readRuntimes(
    value,
    { required: ['name', 'version'], optional: [] },
    (name, { version }, field) => ({ name, version: readVersion(version, `${field}.version`, refuse) }),
    refuse,
  );
}

function readCapacity(value: unknown): WorkerCapacity {
  const keys = ['cpuCores', 'memoryBytes', 'diskBytes', 'gpu'];
  const { cpuCores, memoryBytes, diskBytes, gpu } = readRecord(value, [], keys, 'capacity', refuse);
  return {
    ...(cpuCores !== undefined && {
      cpuCores: integer(cpuCores, 1, MAX_CPU_CORES, 'capacity.cpuCores', refuse),
    }),
    ...(memoryBytes !== undefined && { memoryBytes: readBytes(memoryBytes, 'capacity.memoryBytes') }),
    ...(diskBytes !== undefined && { diskBytes: readBytes(diskBytes, 'capacity.diskBytes') }),
    ...(gpu !== undefined && {
      gpu: readList(gpu, MAX_GPUS, 'capacity.gpu', refuse).map((each, index) =>
        readGpu(each, `capacity.gpu[${index}]`),
      ),
    }),
  };
}

function readGpu(value: unknown, field: string): WorkerGpu {
  const record = readRecord(value, ['vendor'], ['model', 'memoryBytes'], field, refuse);
  const { vendor, model, memoryBytes } = record;
  return {
    vendor: readItem(vendor, `${field}.vendor`, refuse),
    ...(model !== undefined && { model: readItem(model, `${field}.model`, refuse) }),
    ...(memoryBytes !== undefined && { memoryBytes: readBytes(memoryBytes, `${field}.memoryBytes`) }),
  };
}

const readBytes = (value: unknown, field: string): number =>
  integer(value, 1, Number.MAX_SAFE_INTEGER, field, refuse);
