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
  type Rule,
} from '@valise/contracts/settings';

const pathIfAny: Rule<string | null> = absolutePath;
const MAX_GRACE_MS = 30 * 24 * 60 * 60 * 1000;

/** The files of a listener's identity, and of the authorities that issue its callers' certificates. */
export interface TlsConfig {
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly clientCaFile: string;
  /** Null: certificates end by their validity alone. */
  readonly revocationFile: string | null;
  /** How long past its nextUpdate a revocation list still counts. */
  readonly revocationGraceMs: number;
}

/** What the worker-facing listener needs. */
export interface IngressConfig {
  readonly listen: ListenAddress;
  readonly databaseUrl: string;
  /** Connections to PostgreSQL at most. */
  readonly databaseConnections: number;
  readonly secretsDirectory: string;
}

/** What the operator-facing listener needs, and the sweeper that runs beside it. */
export interface ManagementConfig {
  readonly listen: ListenAddress;
  readonly databaseUrl: string;
  readonly sweeperDatabaseUrl: string;
  readonly operatorsFile: string;
  readonly sweepIntervalMs: number;
  readonly logRetentionDays: number;
  /** Names that a task's bindings may have although the name policy refuses them; workers have a list of their own. */
  readonly allowedNames: ReadonlySet<string>;
}

/** Everything control knows of its surroundings; complete, nothing optional. */
export class ControlConfig {
  readonly trustDomain: string;
  /** Null in a process that does not listen for workers; one of the two is there. */
  readonly ingress: IngressConfig | null;
  /** Null in a process that does not listen for operators. */
  readonly management: ManagementConfig | null;
  readonly plain: ListenAddress;
  readonly tls: TlsConfig;
  /** How often files are looked at for a change. */
  readonly reloadIntervalMs: number;
  /** Connections per listener. */
  readonly maxConnections: number;
  /** How long the listeners stay open once the program is not ready any more, and how long requests may take then. */
  readonly drainDelayMs: number;
  readonly drainMs: number;
  readonly logLevel: LogLevel;

  /** @throws ValiseError configuration_invalid: the first variable that is missing, malformed or unknown. */
  static read(): ControlConfig {
    return new ControlConfig(new Settings(process.env));
  }

  constructor(settings: Settings) {
    this.trustDomain = settings.take('VALISE_TRUST_DOMAIN', trustDomain);
    const listeners = settings.take('VALISE_LISTENERS', oneOf('both', 'ingress', 'management'), 'both');
    // What a process does not do it is not told how to do: its settings are unknown to it then.
    this.ingress = listeners === 'management' ? null : takeIngress(settings);
    this.management = listeners === 'ingress' ? null : takeManagement(settings);
    this.plain = settings.take('VALISE_PLAIN_LISTEN', listenAddress, { host: '127.0.0.1', port: 8080 });
    this.tls = {
      certificateFile: settings.take('VALISE_TLS_CERTIFICATE_FILE', absolutePath),
      keyFile: settings.take('VALISE_TLS_KEY_FILE', absolutePath),
      clientCaFile: settings.take('VALISE_TLS_CLIENT_CA_FILE', absolutePath),
      revocationFile: settings.take('VALISE_TLS_REVOCATION_FILE', pathIfAny, null),
      revocationGraceMs: settings.take('VALISE_TLS_REVOCATION_GRACE_MS', integer(0, MAX_GRACE_MS), 0),
    };
    this.reloadIntervalMs = settings.take('VALISE_RELOAD_INTERVAL_MS', integer(100, 600_000), 10_000);
    this.maxConnections = settings.take('VALISE_MAX_CONNECTIONS', integer(16, 100_000), 2000);
    this.drainDelayMs = settings.take('VALISE_DRAIN_DELAY_MS', integer(0, 60_000), 0);
    this.drainMs = settings.take('VALISE_DRAIN_MS', integer(100, 300_000), 10_000);
    this.logLevel = settings.take('VALISE_LOG_LEVEL', oneOf(...LOG_LEVELS), 'info');
    settings.assertAllTaken();
  }
}

function takeIngress(settings: Settings): IngressConfig {
  return {
    listen: settings.take('VALISE_INGRESS_LISTEN', listenAddress),
    databaseUrl: settings.take('VALISE_INGRESS_DATABASE_URL_FILE', fileContent),
    databaseConnections: settings.take('VALISE_INGRESS_DATABASE_CONNECTIONS', integer(1, 200), 10),
    secretsDirectory: settings.take('VALISE_SECRETS_DIRECTORY', absolutePath),
  };
}

function takeManagement(settings: Settings): ManagementConfig {
  return {
    listen: settings.take('VALISE_MANAGEMENT_LISTEN', listenAddress),
    databaseUrl: settings.take('VALISE_OPERATOR_DATABASE_URL_FILE', fileContent),
    sweeperDatabaseUrl: settings.take('VALISE_SWEEPER_DATABASE_URL_FILE', fileContent),
    operatorsFile: settings.take('VALISE_OPERATORS_FILE', absolutePath),
    sweepIntervalMs: settings.take('VALISE_SWEEP_INTERVAL_MS', integer(100, 60_000), 1000),
    logRetentionDays: settings.take('VALISE_LOG_RETENTION_DAYS', integer(1, 36_500), 90),
    allowedNames: settings.take('VALISE_ALLOWED_NAMES', variableNames, new Set()),
  };
}

/** The administrator's database URL, which only `migrate` ever sees. */
export function readAdminDatabaseUrl(): string {
  const settings = new Settings(process.env);
  const url = settings.take('VALISE_ADMIN_DATABASE_URL_FILE', fileContent);
  settings.assertAllTaken();
  return url;
}
