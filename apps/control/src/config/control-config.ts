import {
  absolutePath,
  fileContent,
  integer,
  LOG_LEVELS,
  listenAddress,
  oneOf,
  Settings,
  trustDomain,
  variableNames,
  type ListenAddress,
  type LogLevel,
} from '@valise/contracts/settings';
import { parseOperators, type Operators } from './operators.js';

/** The files of a listener's identity, and of the authority that issues its callers' certificates. */
export interface TlsFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly clientCaFile: string;
}

/** Everything control knows of its surroundings; complete, nothing optional. */
export class ControlConfig {
  readonly trustDomain: string;
  readonly ingressDatabaseUrl: string;
  readonly operatorDatabaseUrl: string;
  readonly sweeperDatabaseUrl: string;
  readonly ingress: ListenAddress;
  readonly management: ListenAddress;
  readonly plain: ListenAddress;
  readonly tls: TlsFiles;
  readonly secretsDirectory: string;
  readonly operators: Operators;
  /** Names that a task's bindings may have although the name policy refuses them; workers have a list of their own. */
  readonly allowedNames: ReadonlySet<string>;
  readonly sweepIntervalMs: number;
  readonly logLevel: LogLevel;

  /** @throws ValiseError configuration_invalid: the first variable that is missing, malformed or unknown. */
  static read(): ControlConfig {
    return new ControlConfig(new Settings(process.env));
  }

  constructor(settings: Settings) {
    this.trustDomain = settings.take('VALISE_TRUST_DOMAIN', trustDomain);
    this.ingressDatabaseUrl = settings.take('VALISE_INGRESS_DATABASE_URL_FILE', fileContent);
    this.operatorDatabaseUrl = settings.take('VALISE_OPERATOR_DATABASE_URL_FILE', fileContent);
    this.sweeperDatabaseUrl = settings.take('VALISE_SWEEPER_DATABASE_URL_FILE', fileContent);
    this.ingress = settings.take('VALISE_INGRESS_LISTEN', listenAddress);
    this.management = settings.take('VALISE_MANAGEMENT_LISTEN', listenAddress);
    this.plain = settings.take('VALISE_PLAIN_LISTEN', listenAddress, { host: '127.0.0.1', port: 8080 });
    this.tls = {
      certificateFile: settings.take('VALISE_TLS_CERTIFICATE_FILE', absolutePath),
      keyFile: settings.take('VALISE_TLS_KEY_FILE', absolutePath),
      clientCaFile: settings.take('VALISE_TLS_CLIENT_CA_FILE', absolutePath),
    };
    this.secretsDirectory = settings.take('VALISE_SECRETS_DIRECTORY', absolutePath);
    this.operators = settings.take('VALISE_OPERATORS_FILE', (text) => parseOperators(fileContent(text)));
    this.allowedNames = settings.take('VALISE_ALLOWED_NAMES', variableNames, new Set());
    this.sweepIntervalMs = settings.take('VALISE_SWEEP_INTERVAL_MS', integer(100, 60_000), 1000);
    this.logLevel = settings.take('VALISE_LOG_LEVEL', oneOf(...LOG_LEVELS), 'info');
    settings.assertAllTaken();
  }
}

/** The administrator's database URL, which only `migrate` ever sees. */
export function readAdminDatabaseUrl(): string {
  const settings = new Settings(process.env);
  const url = settings.take('VALISE_ADMIN_DATABASE_URL_FILE', fileContent);
  settings.assertAllTaken();
  return url;
}
