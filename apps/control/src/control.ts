import { setTimeout as pause } from 'node:timers/promises';
import type { DynamicModule, INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Logger } from 'pino';
import { DeliveryAuthority, TransactionRunner } from '@valise/authority';
import type { ControlConfig, IngressConfig, ManagementConfig } from './config/control-config.js';
import type { LiveFiles } from './config/live-files.js';
import { openOperators, type Operators } from './config/operators.js';
import { Readiness } from './health/readiness.js';
import { type Admissions, admissionsFor } from './admission/admissions.js';
import { Drain } from './http/drain.js';
import { createListener, listen, type Listener } from './http/listener.js';
import { ListenerCodes } from './http/listener-codes.js';
import { IngressModule } from './ingress.module.js';
import { nestLog } from './log/log.js';
import { MANAGEMENT_CONNECTIONS, ManagementModule } from './management.module.js';
import type { AdmittingListener } from './metrics/catalogue.js';
import { Metrics } from './metrics/metrics.js';
import {
  measureAdmissions,
  measureConnections,
  measureDenials,
  measureTransactions,
  measureTransport,
} from './metrics/sources.js';
import { createOpenApiDocument } from './openapi/document.js';
import { PublishedDocument } from './openapi/published-document.js';
import { PlainModule } from './plain.module.js';
import type { Program } from './program.module.js';
import { SweeperModule } from './sweeper/sweeper.module.js';
import { ReloadTimer } from './tls/reload-timer.js';
import { Transport } from './tls/transport.js';

/** An orchestrator, a Prometheus and a person or two. */
const PLAIN_CONNECTIONS = 64;

/** A control that listens: its ports, null for what this process does not do, and the way to end it. */
export interface Control {
  readonly ports: {
    readonly ingress: number | null;
    readonly management: number | null;
    readonly plain: number;
  };
  /** Reads certificates, revocation lists and operators again; what is not good leaves the last good in force. */
  reload(): Promise<void>;
  /**
   * Says that it is not ready, and a while later stops listening and lets requests in flight end; then the sweeper, the
   * pools and the plain address end. What is still open at the deadline is cut.
   */
  close(): Promise<void>;
}

/** Starts what the configuration asks for; when a part of it cannot start, none is left running. */
export async function startControl(config: ControlConfig, log: Logger): Promise<Control> {
  const control = new RunningControl(config, log);
  try {
    const ports = await control.start();
    return { ports, reload: () => control.reload(), close: () => control.close() };
  } catch (error) {
    await control.close();
    throw error;
  }
}

class RunningControl {
  private readonly metrics = new Metrics();
  private readonly drain = new Drain();
  private readonly transport: Transport;
  private readonly operators: LiveFiles<Operators> | null;
  private readonly reloads: ReloadTimer;
  private readonly program: Program;
  private readonly listeners: Listener[] = [];
  private sweeper: INestApplicationContext | null = null;
  private readiness: Readiness | null = null;
  private plain: Listener | null = null;

  constructor(
    private readonly config: ControlConfig,
    private readonly log: Logger,
  ) {
    this.transport = Transport.open(config.trustDomain, config.tls, log);
    this.operators = config.management && openOperators(config.management.operatorsFile);
    const sets = { certificates: this.transport, ...(this.operators && { operators: this.operators }) };
    this.reloads = new ReloadTimer(sets, this.transport.facts, log);
    this.program = { log, metrics: this.metrics, transport: this.transport };
    measureTransport(this.metrics, this.transport.facts);
    this.metrics.read('valise_ready', (report) => {
      report({}, this.drain.hasBegun ? 0 : 1);
    });
  }

  async start(): Promise<Control['ports']> {
    const { config } = this;
    const ingress = config.ingress && (await this.createIngress(config.ingress));
    const management =
      config.management && this.operators && (await this.createManagement(config.management, this.operators));
    if (config.management) await this.startSweeper(config.management);
    const published = management?.application.get(PublishedDocument);
    if (published)
      published.document = createOpenApiDocument(this.listeners.map(({ application }) => application));
    const plain = await this.createPlain();
    this.reloads.start(config.reloadIntervalMs, () => {
      this.transport.endRefused();
    });
    return {
      ingress: ingress && (await listen(ingress, config.ingress.listen)),
      management: management && (await listen(management, config.management.listen)),
      plain: await listen(plain, config.plain),
    };
  }

  reload(): Promise<void> {
    return this.reloads.reload();
  }

  async close(): Promise<void> {
    this.drain.begin();
    if (this.plain) await pause(this.config.drainDelayMs);
    const cut = setTimeout(() => {
      for (const { connections } of this.listeners) connections.cut();
    }, this.config.drainMs);
    for (const { connections } of this.listeners) connections.end();
    await Promise.all(this.listeners.map(({ application }) => application.close()));
    clearTimeout(cut);
    this.reloads.stop();
    await this.sweeper?.close();
    // The last to go: until now it says that this process is on its way out.
    this.plain?.connections.cut();
    await this.plain?.application.close();
    await this.readiness?.close();
  }

  private async createIngress(config: IngressConfig): Promise<Listener> {
    const listener = await this.createMutual('ingress', IngressModule.forRoot(this.program, config), {
      codes: ListenerCodes.INGRESS,
      admissions: admissionsFor(config.databaseConnections, 'worker_ingress_unavailable'),
    });
    const { application } = listener;
    measureTransactions(this.metrics, 'ingress', application.get(TransactionRunner));
    measureDenials(this.metrics, application.get(DeliveryAuthority));
    return listener;
  }

  private async createManagement(
    config: ManagementConfig,
    operators: LiveFiles<Operators>,
  ): Promise<Listener> {
    const module = ManagementModule.forRoot(this.program, config, operators);
    const listener = await this.createMutual('management', module, {
      codes: ListenerCodes.MANAGEMENT,
      admissions: admissionsFor(MANAGEMENT_CONNECTIONS, 'management_unavailable'),
    });
    measureTransactions(this.metrics, 'operator', listener.application.get(TransactionRunner));
    return listener;
  }

  private async createMutual(
    name: AdmittingListener,
    module: DynamicModule,
    { codes, admissions }: { readonly codes: ListenerCodes; readonly admissions: Admissions },
  ): Promise<Listener> {
    const { config, log, metrics, drain, transport } = this;
    const listener = await createListener(module, {
      listener: name,
      log,
      metrics,
      drain,
      codes,
      maxConnections: config.maxConnections,
      mutualTls: { server: transport.serverOptions, admissions },
    });
    this.listeners.push(listener);
    transport.serve(listener.application.getHttpServer());
    measureConnections(metrics, name, listener.connections);
    measureAdmissions(metrics, name, admissions);
    return listener;
  }

  private async startSweeper(config: ManagementConfig): Promise<void> {
    const options = { logger: nestLog(this.log), abortOnError: false };
    const module = SweeperModule.forRoot(this.program, config);
    this.sweeper = await NestFactory.createApplicationContext(module, options);
    measureTransactions(this.metrics, 'sweeper', this.sweeper.get(TransactionRunner));
  }

  private async createPlain(): Promise<Listener> {
    const { config, log, metrics, drain } = this;
    const { ingress, management } = config;
    this.readiness = await Readiness.open(
      [
        ...(ingress ? [{ role: 'valise_ingress', url: ingress.databaseUrl } as const] : []),
        ...(management
          ? ([
              { role: 'valise_operator', url: management.databaseUrl },
              { role: 'valise_sweeper', url: management.sweeperDatabaseUrl },
            ] as const)
          : []),
      ],
      drain,
    );
    this.plain = await createListener(PlainModule.forRoot(this.program, this.readiness), {
      listener: 'plain',
      log,
      metrics,
      drain,
      codes: ListenerCodes.MANAGEMENT,
      maxConnections: PLAIN_CONNECTIONS,
      mutualTls: null,
    });
    measureConnections(metrics, 'plain', this.plain.connections);
    return this.plain;
  }
}
