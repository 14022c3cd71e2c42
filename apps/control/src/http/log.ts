import type { LoggerService } from '@nestjs/common';
import { pino, stdTimeFunctions, type Logger } from 'pino';
import { describeError } from '@valise/contracts/failure';

/** Injects the program's log. */
export const LOG = Symbol('log');

/**
 * The program's log: JSON lines on standard output. Errors are reduced to what cannot quote an input: runtimes, parsers,
 * TypeORM and PostgreSQL all put the refused value into their messages.
 */
export function createLog(level: string): Logger {
  return pino({
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    serializers: { err: describeError },
  });
}

/** Nest's own messages go to debug; they name modules and routes only. Its errors reach us through the failure filter. */
export function nestLog(log: Logger): LoggerService {
  const debug = (message: unknown): void => {
    if (typeof message === 'string') log.debug({ source: 'nest' }, message);
  };
  const fault = (): void => {
    log.error({ source: 'nest' }, 'the framework reported an error');
  };
  return { log: debug, verbose: debug, debug, warn: debug, error: fault, fatal: fault };
}
