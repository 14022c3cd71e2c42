import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ValiseError } from '@valise/contracts/failure';
import { readConfig } from './read-config.js';

const COMPLETE = {
  VALISE_CONTROL_URL: 'https://control.example:8443',
  VALISE_TLS_CERTIFICATE_FILE: '/etc/valise/worker.pem',
  VALISE_TLS_KEY_FILE: '/etc/valise/worker.key',
  VALISE_TLS_CA_FILE: '/etc/valise/ca.pem',
  VALISE_STATE_DIRECTORY: '/var/lib/valise',
};
const ROOT = 0;
const USER = 1000;

function refusal(settings: Record<string, string>, uid = ROOT): unknown {
  try {
    readConfig({ ...COMPLETE, ...settings }, uid);
    return null;
  } catch (error) {
    return error instanceof ValiseError ? { code: error.code, ...error.facts } : error;
  }
}

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'valise-config-'));
});
afterAll(() => {
  rmSync(directory, { recursive: true });
});

function fileWith(content: string): string {
  const path = join(directory, 'environment.json');
  writeFileSync(path, content);
  return path;
}

describe('the configuration', () => {
  it('is complete from the required settings alone', () => {
    expect(readConfig({ ...COMPLETE, HOME: '/root', PATH: '/bin' }, ROOT)).toMatchObject({
      slots: 1,
      leaseDurationMs: 30_000,
      isolation: { kind: 'uid_per_slot', baseUid: 61_000 },
      allowedNames: new Set(),
      logLevel: 'info',
    });
  });

  it.each(Object.keys(COMPLETE))('is refused without %s', (setting) => {
    const rest = Object.entries(COMPLETE).filter(([name]) => name !== setting);
    expect(() => readConfig(Object.fromEntries(rest), ROOT)).toThrow(ValiseError);
    expect(refusal({ [setting]: '' })).toEqual({
      code: 'configuration_invalid',
      setting,
      rule: 'is required',
    });
  });

  it.each([
    ['VALISE_CONTROL_URL', 'http://control.example', 'must be an https origin'],
    ['VALISE_CONTROL_URL', 'https://user:hunter2@control.example', 'must be an https origin'],
    ['VALISE_CONTROL_URL', 'https://control.example/path', 'must be an https origin'],
    ['VALISE_STATE_DIRECTORY', 'relative', 'must be an absolute path'],
    ['VALISE_SLOTS', '0', 'must be a whole number from 1 to 1024'],
    ['VALISE_SLOTS', '1e2', 'must be a whole number from 1 to 1024'],
    ['VALISE_SLOTS', ' 1', 'must be a whole number from 1 to 1024'],
    ['VALISE_LEASE_DURATION_MS', '4999', 'must be a whole number from 5000 to 600000'],
    ['VALISE_SLOT_UID_BASE', '0', 'must be a whole number from 1000 to 2147483647'],
    ['VALISE_UNSAFE_SHARED_UID', 'yes', 'must be true or false'],
    ['VALISE_TASK_PATH', '/bin:relative', 'must be an absolute path'],
    ['VALISE_ALLOWED_NAMES', 'NODE_OPTIONS, LD_PRELOAD', 'must be names of variables'],
    ['VALISE_ALLOWED_NAMES', 'QL3_RUN_ID', 'must be names of variables'],
    ['VALISE_LOG_LEVEL', 'verbose', 'must be one of trace, debug, info, warn, error, fatal'],
    ['VALISE_SLOT', '1', 'is not a setting of this program'],
  ])('is refused with %s=%s, naming setting and rule, never the value', (setting, value, rule) => {
    expect(refusal({ [setting]: value })).toEqual({ code: 'configuration_invalid', setting, rule });
  });

  it('takes what the operator gives every task from a file, over what it would be otherwise', () => {
    const file = fileWith('{"TZ":"UTC","HOME":"/srv/tasks"}');
    const { baseEnvironment } = readConfig({ ...COMPLETE, VALISE_TASK_ENVIRONMENT_FILE: file }, ROOT);
    expect(Object.fromEntries(baseEnvironment)).toMatchObject({
      TZ: 'UTC',
      HOME: '/srv/tasks',
      LANG: 'C.UTF-8',
    });
  });

  it.each([
    ['no JSON', 'TZ=hunter2', 'must name a file with one JSON object'],
    ['a list', '["hunter2"]', 'must name a file with one JSON object'],
    ['a name twice', '{"TZ":"hunter2","TZ":"x"}', 'must name a file with one JSON object'],
    ['a path', '{"PATH":"/hunter2"}', 'must have names that a task can be given, without PATH and QL3_…'],
    ['an id', '{"QL3_RUN_ID":"x"}', 'must have names that a task can be given, without PATH and QL3_…'],
    ['no name', '{"A-B":"x"}', 'must have names that a task can be given, without PATH and QL3_…'],
    ['a number', '{"TZ":1}', 'must have texts of 4096 characters at most, without NUL'],
    ['a NUL', '{"TZ":"\\u0000"}', 'must have texts of 4096 characters at most, without NUL'],
  ])('is refused when that file has %s', (_, content, rule) => {
    const setting = 'VALISE_TASK_ENVIRONMENT_FILE';
    expect(refusal({ [setting]: fileWith(content) })).toEqual({
      code: 'configuration_invalid',
      setting,
      rule,
    });
  });

  it('lets several slots share one uid only when the operator says so', () => {
    const setting = 'VALISE_UNSAFE_SHARED_UID';
    expect(refusal({ VALISE_SLOTS: '2' }, USER)).toMatchObject({ setting });
    expect(refusal({ VALISE_SLOTS: '2', [setting]: 'true' }, USER)).toBeNull();
    expect(refusal({ VALISE_SLOTS: '2' }, ROOT)).toBeNull();
  });
});
