import { homedir } from 'node:os';
import { isAbsolute } from 'node:path';
import { environmentNameBreach } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import { LOG_LEVELS, type LogLevel } from '../logs/event-log.js';
import { WorkerConfig, type Isolation } from './worker-config.js';

const DEFAULT_TASK_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const STOP_GRACE_MS = 10_000;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the worker's settings once, strictly.
 * @throws ValiseError configuration_invalid naming the setting and the rule, never the value
 */
export function readConfig(environment: Environment, uid: number): WorkerConfig {
  const settings = new Settings(environment);
  const config = new WorkerConfig({
    controlUrl: settings.required('VALISE_CONTROL_URL', httpsOrigin),
    certificateFile: settings.required('VALISE_TLS_CERTIFICATE_FILE', absolutePath),
    keyFile: settings.required('VALISE_TLS_KEY_FILE', absolutePath),
    authorityFile: settings.required('VALISE_TLS_CA_FILE', absolutePath),
    stateDirectory: settings.required('VALISE_STATE_DIRECTORY', absolutePath),
    slots: settings.optional('VALISE_SLOTS', integer(1, 1024), 1),
    leaseDurationMs: settings.optional('VALISE_LEASE_DURATION_MS', integer(5000, 600_000), 30_000),
    isolation: readIsolation(settings, uid),
    baseEnvironment: new Map([
      ['PATH', settings.optional('VALISE_TASK_PATH', searchPath, DEFAULT_TASK_PATH)],
      // A home that every slot could write would let one task leave start-up files for the next.
      ['HOME', uid === 0 ? '/nonexistent' : homedir()],
      ['LANG', 'C.UTF-8'],
    ]),
    allowedNames: settings.optional('VALISE_ALLOWED_NAMES', nameList, new Set<string>()),
    logLevel: settings.optional('VALISE_LOG_LEVEL', logLevel, 'info'),
    stopGraceMs: STOP_GRACE_MS,
  });
  settings.refuseUnknown();
  if (config.isolation.kind === 'uid_per_slot' && config.isolation.baseUid + config.slots > MAX_UID) {
    throw invalid('VALISE_SLOT_UID_BASE', 'uid_range');
  }
  const mayShare = settings.optional('VALISE_UNSAFE_SHARED_UID', flag, false);
  if (config.isolation.kind === 'shared_uid' && config.slots > 1 && !mayShare) {
    throw invalid('VALISE_UNSAFE_SHARED_UID', 'several_slots_share_one_uid');
  }
  return config;
}

const MAX_UID = 2 ** 31;

function readIsolation(settings: Settings, uid: number): Isolation {
  const baseUid = settings.optional('VALISE_SLOT_UID_BASE', integer(1000, MAX_UID - 1), 61_000);
  settings.optional('VALISE_UNSAFE_SHARED_UID', flag, false);
  return uid === 0 ? { kind: 'uid_per_slot', baseUid } : { kind: 'shared_uid', uid };
}

/** A value, or the rule it breaks. */
type Parse<T> = (text: string) => { readonly value: T } | { readonly rule: string };

class Settings {
  readonly #known = new Set<string>();

  constructor(private readonly environment: Environment) {}

  required<T>(name: string, parse: Parse<T>): T {
    const text = this.#take(name);
    if (text === undefined || text === '') throw invalid(name, 'required');
    return parsed(name, text, parse);
  }

  optional<T>(name: string, parse: Parse<T>, otherwise: T): T {
    const text = this.#take(name);
    return text === undefined ? otherwise : parsed(name, text, parse);
  }

  refuseUnknown(): void {
    for (const name of Object.keys(this.environment)) {
      if (name.startsWith('VALISE_') && !this.#known.has(name)) throw invalid(name, 'unknown');
    }
  }

  #take(name: string): string | undefined {
    this.#known.add(name);
    return this.environment[name];
  }
}

function parsed<T>(name: string, text: string, parse: Parse<T>): T {
  const result = parse(text);
  if ('rule' in result) throw invalid(name, result.rule);
  return result.value;
}

const invalid = (setting: string, rule: string): ValiseError =>
  new ValiseError('configuration_invalid', { setting, rule });

const httpsOrigin: Parse<URL> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isOrigin = url?.protocol === 'https:' && `${url.origin}/` === url.href;
  return isOrigin ? { value: url } : { rule: 'https_origin' };
};

const absolutePath: Parse<string> = (text) =>
  isAbsolute(text) && !text.includes('\0') ? { value: text } : { rule: 'absolute_path' };

const searchPath: Parse<string> = (text) =>
  text.split(':').every((part) => isAbsolute(part)) ? { value: text } : { rule: 'absolute_paths' };

const flag: Parse<boolean> = (text) =>
  text === 'true' || text === 'false' ? { value: text === 'true' } : { rule: 'true_or_false' };

const logLevel: Parse<LogLevel> = (text) => {
  const level = LOG_LEVELS.find((known) => known === text);
  return level ? { value: level } : { rule: 'log_level' };
};

const nameList: Parse<ReadonlySet<string>> = (text) => {
  const names = text.split(',');
  return names.every((name) => environmentNameBreach(name) === null)
    ? { value: new Set(names) }
    : { rule: 'variable_names' };
};

function integer(min: number, max: number): Parse<number> {
  return (text) => {
    const value = /^(0|[1-9][0-9]{0,9})$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? { value } : { rule: `integer_${min}_to_${max}` };
  };
}
