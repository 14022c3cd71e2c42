import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { migrate } from '@valise/authority';
import { ValiseError } from '@valise/contracts/failure';
import { secureOwnProcess } from '@valise/process';
import { ControlConfig, readAdminDatabaseUrl } from './config/control-config.js';
import { startControl } from './control.js';
import { createLog } from './log/log.js';

// Collecting a young heap as small as ours in several threads costs a quarter of a delivery, and saves no time.
setFlagsFromString('--no-parallel-scavenge');

const log = createLog('info');

async function main(command: string | undefined): Promise<void> {
  secureOwnProcess((event) => {
    log.warn({ event }, 'what this process holds could be written down');
  });
  if (command === 'migrate') {
    const applied = await migrate(readAdminDatabaseUrl());
    log.info({ event: 'migrated', applied }, 'the schema is current');
    return;
  }
  if (command !== undefined)
    throw new ValiseError('configuration_invalid', { rule: 'the only command is migrate' });
  const config = ControlConfig.read();
  log.level = config.logLevel;
  const control = await startControl(config, log);
  log.info({ event: 'listening', ...control.ports }, 'control listens');
  process.on('SIGHUP', () => void control.reload());
  const stop = (): void => {
    log.info({ event: 'stopping' }, 'control stops');
    void control.close().then(() => {
      log.info({ event: 'stopped' }, 'control has stopped');
      process.exit(0);
    });
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);
}

/** One sentence that says what an operator can do; foreign messages may hold secrets and stay inside. */
function explain(error: unknown): string {
  if (error instanceof ValiseError) return error.message;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return 'a listen address is in use by another program';
  if (code === 'EACCES') return `this user may not ${syscall ?? 'do that'}`;
  if (code === 'ECONNREFUSED') return 'PostgreSQL does not answer at the configured address';
  if (code === '28P01') return 'PostgreSQL refuses the configured user or password';
  return 'control could not start';
}

main(process.argv[2]).catch((error: unknown) => {
  log.fatal({ err: error, event: 'failed' }, explain(error));
  process.exit(error instanceof ValiseError ? 2 : 1);
});

/** Node itself would print the message, and that may quote a secret. */
function die(error: unknown): never {
  log.fatal({ event: 'failed', err: error }, 'an error was not handled');
  process.exit(1);
}
process.on('uncaughtException', die).on('unhandledRejection', die);
