import { ValiseError } from './valise-error.js';

/** A frame that V8 wrote, as far as a line can tell. */
const FRAME = /^ {4}at [\w.<>[\] #]* ?\(?(?:node:|file:|\/)[^\s]*:\d+:\d+\)?$/;

/** How classes, errnos and SQLSTATEs are written; anything else in their place is somebody's text. */
const TYPE = /^[A-Z]\w{0,63}$/;
const FOREIGN_CODE = /^(?:[A-Z][A-Z0-9_]{2,62}|[0-9A-Z]{5})$/;

const MAX_DEPTH = 3;
const MAX_ERRORS = 4;

/**
 * What may be logged of any error: its type, its errno or SQLSTATE, its stack frames, and the facts of one of ours.
 * Never a foreign message, nor any other field of a foreign error: runtimes, parsers, drivers and PostgreSQL quote the
 * refused input in theirs. Never throws, whatever the error's getters do.
 */
export function describeError(error: unknown): Readonly<Record<string, unknown>> {
  try {
    return describe(error, 0);
  } catch {
    return { type: 'Error' };
  }
}

function describe(error: unknown, depth: number): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { type: typeof error };
  if (depth === MAX_DEPTH) return { type: 'Error' };
  const cause = read(error, 'cause');
  const errors = read(error, 'errors');
  return {
    type: typeOf(error),
    ...codeOf(error),
    frames: framesOf(read(error, 'stack'), read(error, 'message')),
    ...(cause !== undefined && { cause: describe(cause, depth + 1) }),
    ...(Array.isArray(errors) && {
      errors: errors.slice(0, MAX_ERRORS).map((each) => describe(each, depth + 1)),
    }),
  };
}

function codeOf(error: Error): Readonly<Record<string, unknown>> {
  if (error instanceof ValiseError) return { code: error.code, facts: error.facts };
  const code = read(error, 'code');
  return typeof code === 'string' && FOREIGN_CODE.test(code) ? { code } : {};
}

/** The name that its class was written with; the error's own `name` and `constructor` are text like its message. */
function typeOf(error: Error): string {
  const { name } = (Object.getPrototypeOf(error) as { constructor: { name: unknown } }).constructor;
  return typeof name === 'string' && TYPE.test(name) ? name : 'Error';
}

/** The frames after the message, whose lines may imitate them. */
function framesOf(stack: unknown, message: unknown): string[] {
  if (typeof stack !== 'string') return [];
  const start = typeof message === 'string' ? stack.indexOf(message) : -1;
  const lines = (start < 0 ? stack : stack.slice(start + String(message).length)).split('\n');
  const lastOfText = lines.findLastIndex((line) => !line.startsWith('    at '));
  return lines
    .slice(lastOfText + 1)
    .filter((line) => FRAME.test(line))
    .map((line) => line.trim());
}

function read(error: Error, key: 'code' | 'stack' | 'message' | 'cause' | 'errors'): unknown {
  try {
    return (error as unknown as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}
