import type { LoggerService } from '@nestjs/common';
import { pino, stdTimeFunctions, type Logger } from 'pino';
import { ValiseError } from '@valise/contracts/failure';

/** Injects the program's log. */
export const LOG = Symbol('log');

/**
 * The program's log: JSON lines on standard output. Errors are reduced to what cannot quote an input: runtimes, parsers,
 * TypeORM and PostgreSQL all put the refused value into their messages.
 */
export function createLog(level: string): Logger {
  return pino({ level, base: null, timestamp: stdTimeFunctions.isoTime, serializers: { err: reduceError } });
}

/** Type, code, SQLSTATE and stack frames of an error; its message only where it is one of ours. */
export function reduceError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code } = error as { code?: unknown };
  return {
    type: error.constructor.name,
    ...(typeof code === 'string' && /^[A-Za-z0-9_]{1,64}$/.test(code) && { code }),
    ...(error instanceof ValiseError && { facts: error.facts }),
    frames: (error.stack ?? '')
      .split('\n')
      .filter((line) => /^\s+at /.test(line))
      .map((line) => line.trim()),
    ...(error.cause !== undefined && { cause: reduceError(error.cause) }),
  };
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
