import pino, { type DestinationStream, type Logger } from 'pino';
import { describeError } from '@valise/contracts/failure';
import { standardOutput } from '@valise/process';
import type { LogLevel } from '@valise/contracts/settings';

/** Identifiers, counts and times. Never a value, a name out of a bundle, or foreign text. */
export type EventFields = Readonly<Record<string, string | number | boolean | null>>;

/** The worker's own log: one JSON line per event, on standard output. */
export class EventLog {
  readonly #logger: Logger;

  constructor(level: LogLevel, destination: DestinationStream = standardOutput) {
    this.#logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  }

  info(event: string, fields: EventFields = {}): void {
    this.#logger.info({ ...fields, event });
  }

  debug(event: string, fields: EventFields = {}): void {
    this.#logger.debug({ ...fields, event });
  }

  /** Says that something is not as it should be, and that the worker goes on. */
  warn(event: string, fields: EventFields = {}): void {
    this.#logger.warn({ ...fields, event });
  }

  /** Says why the process cannot go on. */
  fatal(event: string, error: unknown): void {
    this.#logger.fatal({ event, error: describeError(error) });
  }

  /** Says that something failed, and what is known about why. */
  failure(event: string, error: unknown, fields: EventFields = {}): void {
    this.#logger.warn({ ...fields, event, error: describeError(error) });
  }
}
