import { ValiseError } from './valise-error.js';

/** A frame that V8 wrote; a message of several lines can imitate the indent, hardly the rest. */
const FRAME = /^ {4}at [\w.<>[\] #]* ?\(?(?:node:|file:|\/)[^\s]*\)?$/;

/**
 * What may be logged of any error: its type, its errno or SQLSTATE, its stack frames, and the facts of one of ours.
 * Never a foreign message: runtimes, parsers, drivers and PostgreSQL quote the refused input in theirs.
 */
export function describeError(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code } = error as { code?: unknown };
  return {
    type: error.constructor.name,
    ...(typeof code === 'string' && /^\w{1,64}$/.test(code) && { code }),
    ...(error instanceof ValiseError && { facts: error.facts }),
    frames: (error.stack ?? '')
      .split('\n')
      .filter((line) => FRAME.test(line))
      .map((line) => line.trim()),
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  };
}
