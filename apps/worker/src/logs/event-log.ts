import pino, { type DestinationStream, type Logger } from 'pino';
import { ValiseError } from '@valise/contracts/failure';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Identifiers, counts and times. Never a value, a name out of a bundle, or foreign text. */
export type EventFields = Readonly<Record<string, string | number | boolean | null>>;

/** The worker's own log: one JSON line per event, on standard output. */
export class EventLog {
  readonly #logger: Logger;

  constructor(level: LogLevel, destination: DestinationStream = pino.destination({ fd: 1, sync: true })) {
    this.#logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  }

  info(event: string, fields: EventFields = {}): void {
    this.#logger.info({ ...fields, event });
  }

  debug(event: string, fields: EventFields = {}): void {
    this.#logger.debug({ ...fields, event });
  }

  /** Says why the process cannot go on. */
  fatal(event: string, error: unknown): void {
    this.#logger.fatal({ event, error: describe(error) });
  }

  /** Says that something failed, and what is known about why. */
  failure(event: string, error: unknown, fields: EventFields = {}): void {
    this.#logger.warn({ ...fields, event, error: describe(error) });
  }
}

/** Foreign messages quote their input (JSON.parse, spawn): of a foreign error only type, errno and frames are told. */
function describe(error: unknown): object {
  if (error instanceof ValiseError) return { code: error.code, ...error.facts };
  if (!(error instanceof Error)) return { type: typeof error };
  const { code } = error as NodeJS.ErrnoException;
  const errno = typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? { errno: code } : {};
  const frames = (error.stack ?? '')
    .split('\n')
    .filter((line) => /^ {4}at [\w.<>[\] #]* ?\(?(?:node:|\/)/.test(line));
  return { type: error.constructor.name, ...errno, frames: frames.map((line) => line.trim()) };
}
