/** What a person at the terminal is told when the command line cannot go on: one plain sentence, and how to exit. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  /** `exitCode` is 2 for input that must be changed, 1 for everything else. */
  constructor(
    sentence: string,
    readonly exitCode: 1 | 2 = 1,
  ) {
    super(sentence);
  }
}

/** The errno name of a system error, or null for anything else. Its message is left behind: it may quote input. */
export function errnoOf(error: unknown): string | null {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : null;
}
