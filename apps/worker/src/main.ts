import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { NestApplicationContextOptions } from '@nestjs/common/interfaces/nest-application-context-options.interface.js';
import { NestFactory } from '@nestjs/core';
import { ValiseError } from '@valise/contracts/failure';
import { secureOwnProcess } from '@valise/process';
import { ownConfig } from './config/config.module.js';
import { examine, isFit, textOf } from './doctor/doctor.js';
import { WorkerService } from './execution/worker.service.js';
import { IdentityRenewal } from './ingress/identity-renewal.js';
import { IngressClient } from './ingress/ingress-client.js';
import { EventLog } from './events/event-log.js';
import { WorkerModule } from './worker.module.js';

// Collecting a young heap as small as ours in several threads costs more than it saves.
setFlagsFromString('--no-parallel-scavenge');

async function main([command, ...options]: readonly string[]): Promise<void> {
  if (command === undefined) return work();
  const isOffline = options.length === 1 && options[0] === '--offline';
  if (command !== 'doctor' || (options.length > 0 && !isOffline)) {
    throw new ValiseError('configuration_invalid', { rule: 'the only command is doctor [--offline]' });
  }
  const findings = await examine(ownConfig, isOffline);
  process.stdout.write(textOf(findings));
  process.exitCode = isFit(findings) ? 0 : 1;
}

async function work(): Promise<void> {
  const log = new EventLog('info');
  secureOwnProcess((event) => {
    log.warn(event);
  });
  const quiet = Object.assign(new NestApplicationContextOptions(), { logger: false, abortOnError: false });
  const app = await NestFactory.createApplicationContext(WorkerModule, quiet);
  const worker = app.get(WorkerService);
  process.on('SIGTERM', () => void worker.drain());
  process.on('SIGINT', () => void worker.drain());
  const renewal = app.get(IdentityRenewal);
  process.on('SIGHUP', () => void renewal.renew());
  await renewal.start();
  await worker.run();
  renewal.stop();
  app.get(IngressClient).close();
  await app.close();
}

/** Tasks go down with the process (pdeathsig); what they leave is the next start's to report. */
function die(error: unknown): never {
  new EventLog('info').fatal('worker_failed', error);
  process.exit(1);
}

process.on('uncaughtException', die);
process.on('unhandledRejection', die);
main(process.argv.slice(2)).catch(die);
