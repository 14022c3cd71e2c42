import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, pino, stdTimeFunctions, type Logger } from 'pino';
import { standardOutput } from '@valise/process';
import { plainFields } from './log-fields.js';

/** Injects the program's log. */
export const LOG = Symbol('log');

/**
 * The program's log: JSON lines on standard output, or where a test wants them. A line is its fields and a sentence of
 * ours; whatever else is given to it, errors first of all, is reduced to what cannot quote an input: runtimes, parsers,
 * TypeORM and PostgreSQL all put the refused value into their messages.
 */
export function createLog(level: string, destination: DestinationStream = standardOutput): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      // The fields are plain by then; pino's own would add a message.
      serializers: { err: (described: unknown) => described },
      formatters: { log: plainFields },
      hooks: {
        // Left alone, pino takes an error's message where it is given none, and puts arguments into the text.
        logMethod([fields, message], method) {
          if (typeof fields === 'string') method.call(this, fields);
          else method.call(this, fields, sentence(message));
        },
      },
    },
    destination,
  );
}

function sentence(message: unknown): string {
  return typeof message === 'string' ? message : 'an event';
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
