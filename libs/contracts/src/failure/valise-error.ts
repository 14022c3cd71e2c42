import type { FailureCode } from './catalogue.js';

/**
 * What is known about a refusal: identifiers, counts, limits, field paths and rule names.
 * Never a value, a bundle name or any text of the refused input.
 */
export type Facts = Readonly<Record<string, string | number | boolean>>;

/**
 * The one error Valise throws on purpose. Its message is made from the code and the facts alone, so it may be logged
 * and sent; a foreign error's message may not, because runtimes quote the input in it.
 */
export class ValiseError extends Error {
  override readonly name = 'ValiseError';

  constructor(
    readonly code: FailureCode,
    readonly facts: Facts = {},
  ) {
    super([code, ...Object.entries(facts).map(([key, fact]) => `${key}=${String(fact)}`)].join(' '));
  }
}
