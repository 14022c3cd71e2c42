import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { ValiseError } from '@valise/contracts/failure';
import type { TlsConfig } from '../../apps/control/src/config/control-config.js';
import { ReloadTimer } from '../../apps/control/src/tls/reload-timer.js';
import { Transport } from '../../apps/control/src/tls/transport.js';
import type { TransportFacts } from '../../apps/control/src/tls/transport-facts.js';
import { type TestIdentity, TestPki, TRUST_DOMAIN } from '../support/test-pki.js';
import { until } from '../support/until.js';
import { wireCaller } from '../support/wire/wire-caller.js';
import { type Outcome, WireConnection } from '../support/wire/wire-connection.js';

export const HOUR_MS = 3_600_000;

/** Control's mutual TLS without the rest of control: it answers 200 to a caller, and 401 to anybody else. */
export class TestListener {
  transport: Transport;
  timer: ReloadTimer;
  /** What was logged. */
  readonly lines: string[] = [];
  private servers: Server[] = [];
  port: number;

  private constructor(
    readonly directory: string,
    readonly pki: TestPki,
    /** Its own certificate, where it reads it. */
    readonly own: TestIdentity,
    /** What clients trust, whatever the listener trusts. */
    private readonly controlCaFile: string,
  ) {}

  static async create(): Promise<TestListener> {
    const directory = mkdtempSync(join(tmpdir(), 'valise-transport-'));
    const pki = await TestPki.create(join(directory, 'pki'));
    const controlCaFile = join(directory, 'control-ca.pem');
    copyFileSync(pki.caFile, controlCaFile);
    return new TestListener(directory, pki, await pki.server('control'), controlCaFile);
  }

  get facts(): TransportFacts {
    return this.transport.facts;
  }

  tlsConfig(settings: Partial<TlsConfig> = {}): TlsConfig {
    return {
      certificateFile: this.own.certificateFile,
      keyFile: this.own.keyFile,
      clientCaFile: this.pki.caFile,
      revocationFile: null,
      revocationGraceMs: 0,
      ...settings,
    };
  }

  async listen(settings: Partial<TlsConfig> = {}, options: ServerOptions = {}): Promise<void> {
    const log = pino({ base: null }, { write: (line: string) => void this.lines.push(line) });
    const transport = Transport.open(TRUST_DOMAIN, this.tlsConfig(settings), log);
    const server = createServer({ ...transport.serverOptions, ...options }, (request, response) => {
      response.statusCode = statusOf(() => transport.callerOf(request));
      response.setHeader('content-length', 0);
      response.end();
    });
    transport.serve(server);
    this.transport = transport;
    this.timer = new ReloadTimer({ certificates: transport }, transport.facts, log);
    this.servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
  }

  listenWithLists(settings: Partial<TlsConfig> = {}): Promise<void> {
    return this.listen({ revocationFile: this.pki.revocationFile, ...settings });
  }

  open(identity: TestIdentity | null, options: ConnectionOptions = {}): Promise<WireConnection> {
    return WireConnection.attempt(wireCaller(this.port, this.controlCaFile, identity), options);
  }

  /** What a request on a new connection gets. */
  async ask(identity: TestIdentity | null, options: ConnectionOptions = {}): Promise<Outcome> {
    const client = await this.open(identity, options);
    const outcome = await client.ask();
    client.close();
    await client.closed;
    return outcome;
  }

  /** The events that were logged, in their order. */
  get events(): unknown[] {
    const events = this.lines.map((line) => (JSON.parse(line) as { event?: unknown }).event);
    return events.filter((event) => event !== undefined);
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    await until(what, holds, { situation: () => this.lines.join('') });
  }

  close(): void {
    this.timer.stop();
    for (const server of this.servers) {
      server.closeAllConnections();
      server.close();
    }
    rmSync(this.directory, { recursive: true });
  }
}

function statusOf(caller: () => unknown): number {
  try {
    return caller() === null ? 401 : 200;
  } catch (error) {
    return error instanceof ValiseError && error.code === 'revocation_unavailable' ? 503 : 500;
  }
}

/** Gives each test a listener of its own, which does not listen yet. */
export function useListener(): () => TestListener {
  let listener: TestListener | undefined;
  beforeEach(async () => {
    listener = await TestListener.create();
  });
  afterEach(() => {
    listener?.close();
  });
  return () => {
    if (!listener) throw new Error('the listener exists while a test runs');
    return listener;
  };
}
