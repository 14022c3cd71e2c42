import { homedir } from 'node:os';
import {
  absolutePath,
  flag,
  httpsOrigin,
  integer,
  invalidSetting,
  listOf,
  LOG_LEVELS,
  oneOf,
  Settings,
  variableNames,
} from '@valise/contracts/settings';
import { MAX_ARTIFACT_BYTES } from '@valise/contracts/wire';
import { taskEnvironment } from './task-environment.js';
import { WorkerConfig } from './worker-config.js';

const DEFAULT_TASK_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const STOP_GRACE_MS = 10_000;
const DISK_RESERVE_BYTES = 256 * 1024 * 1024;
const MAX_UID = 2 ** 31;

/**
 * Reads the worker's settings once, strictly.
 * @throws ValiseError configuration_invalid naming the setting and the rule, never the value
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  uid: number,
): WorkerConfig {
  const settings = new Settings(environment);
  const baseUid = settings.take('VALISE_SLOT_UID_BASE', integer(1000, MAX_UID - 1), 61_000);
  const mayShareUid = settings.take('VALISE_UNSAFE_SHARED_UID', flag, false);
  const config = new WorkerConfig({
    controlUrl: settings.take('VALISE_CONTROL_URL', httpsOrigin),
    certificateFile: settings.take('VALISE_TLS_CERTIFICATE_FILE', absolutePath),
    keyFile: settings.take('VALISE_TLS_KEY_FILE', absolutePath),
    authorityFile: settings.take('VALISE_TLS_CA_FILE', absolutePath),
    stateDirectory: settings.take('VALISE_STATE_DIRECTORY', absolutePath),
    slots: settings.take('VALISE_SLOTS', integer(1, 1024), 1),
    leaseDurationMs: settings.take('VALISE_LEASE_DURATION_MS', integer(5000, 600_000), 30_000),
    isolation: uid === 0 ? { kind: 'uid_per_slot', baseUid } : { kind: 'shared_uid', uid },
    baseEnvironment: new Map([
      ['PATH', settings.take('VALISE_TASK_PATH', searchPath, DEFAULT_TASK_PATH)],
      // A home that every slot could write would let one task leave start-up files for the next.
      ['HOME', uid === 0 ? '/nonexistent' : homedir()],
      ['LANG', 'C.UTF-8'],
      ...settings.take('VALISE_TASK_ENVIRONMENT_FILE', taskEnvironment, new Map<string, string>()),
    ]),
    allowedNames: settings.take('VALISE_ALLOWED_NAMES', variableNames, new Set()),
    logLimits: {
      maxBytes: settings.take(
        'VALISE_LOG_MAX_BYTES',
        integer(2 ** 20, MAX_ARTIFACT_BYTES),
        MAX_ARTIFACT_BYTES,
      ),
      reserveBytes: settings.take('VALISE_LOG_DISK_RESERVE_BYTES', integer(0, 2 ** 40), DISK_RESERVE_BYTES),
    },
    logLevel: settings.take('VALISE_LOG_LEVEL', oneOf(...LOG_LEVELS), 'info'),
    stopGraceMs: STOP_GRACE_MS,
  });
  settings.assertAllTaken();
  assertKeptApart(config, mayShareUid);
  return config;
}

/** Tasks that run at the same time have a uid each, unless the operator has said that they may share one. */
function assertKeptApart({ isolation, slots }: WorkerConfig, mayShareUid: boolean): void {
  if (isolation.kind === 'uid_per_slot' && isolation.baseUid + slots > MAX_UID) {
    throw invalidSetting('VALISE_SLOT_UID_BASE', 'leaves too few user ids for the slots');
  }
  if (isolation.kind === 'shared_uid' && slots > 1 && !mayShareUid) {
    throw invalidSetting('VALISE_UNSAFE_SHARED_UID', 'must be true for several slots without root');
  }
}

function searchPath(text: string): string {
  listOf(':', absolutePath)(text);
  return text;
}
