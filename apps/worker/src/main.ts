import 'reflect-metadata';
import { NestApplicationContextOptions } from '@nestjs/common/interfaces/nest-application-context-options.interface.js';
import { NestFactory } from '@nestjs/core';
import { secureOwnProcess } from './config/own-process.js';
import { WorkerConfig } from './config/worker-config.js';
import { WorkerService } from './execution/worker.service.js';
import { IngressClient } from './ingress/ingress-client.js';
import { WORKER_IDENTITY } from './ingress/ingress.module.js';
import { readIdentity, type WorkerIdentity } from './ingress/worker-identity.js';
import { EventLog } from './logs/event-log.js';
import { WorkerModule } from './worker.module.js';

async function main(): Promise<void> {
  const log = new EventLog('info');
  secureOwnProcess((event) => {
    log.warn(event);
  });
  const quiet = Object.assign(new NestApplicationContextOptions(), { logger: false, abortOnError: false });
  const app = await NestFactory.createApplicationContext(WorkerModule, quiet);
  const worker = app.get(WorkerService);
  process.on('SIGTERM', () => void worker.drain());
  process.on('SIGINT', () => void worker.drain());
  process.on('SIGHUP', () => {
    void present(app.get(WorkerConfig), app.get(IngressClient), app.get(WORKER_IDENTITY), app.get(EventLog));
  });
  await worker.run();
  app.get(IngressClient).close();
  await app.close();
}

/** Takes a renewed certificate from the disk; one that does not fit leaves the old one in place. */
async function present(
  config: WorkerConfig,
  client: IngressClient,
  identity: WorkerIdentity,
  log: EventLog,
): Promise<void> {
  try {
    const renewed = await readIdentity(config);
    if (renewed.workerId === identity.workerId) client.present(renewed);
  } catch (error) {
    log.failure('identity_not_renewed', error);
  }
}

/** Tasks go down with the process (pdeathsig); what they leave is the next start's to report. */
function die(error: unknown): never {
  new EventLog('info').fatal('worker_failed', error);
  process.exit(1);
}

process.on('uncaughtException', die);
process.on('unhandledRejection', die);
main().catch(die);
