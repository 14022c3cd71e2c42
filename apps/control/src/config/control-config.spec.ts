import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ValiseError } from '@valise/contracts/failure';
import { Settings } from '@valise/contracts/settings';
import { ControlConfig } from './control-config.js';

let directory: string;
let environment: Record<string, string>;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'valise-config-'));
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  environment = {
    PATH: '/usr/bin',
    VALISE_TRUST_DOMAIN: 'valise.test',
    VALISE_INGRESS_DATABASE_URL_FILE: file('ingress', 'postgres://ingress\n'),
    VALISE_OPERATOR_DATABASE_URL_FILE: file('operator', 'postgres://operator'),
    VALISE_SWEEPER_DATABASE_URL_FILE: file('sweeper', 'postgres://sweeper'),
    VALISE_INGRESS_LISTEN: '127.0.0.1:0',
    VALISE_MANAGEMENT_LISTEN: '[::1]:8444',
    VALISE_TLS_CERTIFICATE_FILE: '/etc/valise/tls.crt',
    VALISE_TLS_KEY_FILE: '/etc/valise/tls.key',
    VALISE_TLS_CLIENT_CA_FILE: '/etc/valise/ca.crt',
    VALISE_SECRETS_DIRECTORY: '/run/secrets',
    VALISE_OPERATORS_FILE: '/etc/valise/operators.json',
  };
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

const read = () => new ControlConfig(new Settings(environment));

function refusal(): unknown {
  try {
    read();
    return null;
  } catch (error) {
    return error instanceof ValiseError ? [error.code, error.facts.setting] : error;
  }
}

describe('the configuration of control', () => {
  it('is complete once it is read', () => {
    const config = read();
    expect(config.ingress?.databaseUrl).toBe('postgres://ingress');
    expect(config.management?.listen).toEqual({ host: '::1', port: 8444 });
    expect(config.plain).toEqual({ host: '127.0.0.1', port: 8080 });
    expect(config.logLevel).toBe('info');
  });

  it.each([
    ['VALISE_TRUST_DOMAIN', undefined],
    ['VALISE_TRUST_DOMAIN', 'Upper.Case'],
    ['VALISE_INGRESS_LISTEN', '127.0.0.1'],
    ['VALISE_INGRESS_LISTEN', '127.0.0.1:65536'],
    ['VALISE_TLS_KEY_FILE', 'relative/tls.key'],
    ['VALISE_INGRESS_DATABASE_URL_FILE', '/nonexistent/url'],
    ['VALISE_LOG_LEVEL', 'verbose'],
    ['VALISE_SWEEP_INTERVAL_MS', '1e3'],
    ['VALISE_UNKNOWN', 'x'],
  ])('stops the start when %s is %s, naming it', (variable, text) => {
    if (text === undefined)
      environment = Object.fromEntries(Object.entries(environment).filter(([name]) => name !== variable));
    else environment[variable] = text;
    expect(refusal()).toEqual(['configuration_invalid', variable]);
  });

  it.each([
    ['ingress', ['INGRESS', 'SECRETS'], 'VALISE_OPERATOR_DATABASE_URL_FILE'],
    ['management', ['OPERATOR', 'SWEEPER', 'MANAGEMENT', 'OPERATORS'], 'VALISE_INGRESS_DATABASE_URL_FILE'],
  ])(
    'of a process for %s alone is that, and holds no login that the other needs',
    (listeners, own, foreign) => {
      const complete = environment;
      const shared = ['TRUST', 'TLS'];
      environment = Object.fromEntries(
        Object.entries(complete).filter(([name]) => [...shared, ...own].includes(String(name.split('_')[1]))),
      );
      environment.VALISE_LISTENERS = listeners;
      const { ingress, management } = read();
      expect([ingress === null, management === null]).toEqual([
        listeners === 'management',
        listeners === 'ingress',
      ]);
      environment[foreign] = String(complete[foreign]);
      expect(refusal()).toEqual(['configuration_invalid', foreign]);
    },
  );
});
