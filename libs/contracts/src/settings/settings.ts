import { ValiseError } from '../failure/index.js';

/** Turns the text of a setting into its value. @throws RuleBroken */
export type Rule<T> = (text: string) => T;

/** Says what a setting must be; never quotes what it was. */
export class RuleBroken extends Error {
  override readonly name = 'RuleBroken';
}

/**
 * The settings of one program: the `VALISE_…` variables of its environment, read once and strictly. A refusal names the
 * variable and the rule it breaks, never its text.
 */
export class Settings {
  readonly #texts: Map<string, string>;

  constructor(environment: Readonly<Record<string, string | undefined>>) {
    this.#texts = new Map();
    for (const [variable, text] of Object.entries(environment)) {
      if (variable.startsWith('VALISE_') && text !== undefined) this.#texts.set(variable, text);
    }
  }

  /** @throws ValiseError configuration_invalid when the variable breaks its rule, or is missing without a `fallback` */
  take<T>(variable: string, rule: Rule<T>, fallback?: T): T {
    const text = this.#texts.get(variable);
    this.#texts.delete(variable);
    if (text === undefined && fallback !== undefined) return fallback;
    if (text === undefined || text === '') throw invalidSetting(variable, 'is required');
    try {
      return rule(text);
    } catch (error) {
      throw invalidSetting(variable, error instanceof RuleBroken ? error.message : 'cannot be read');
    }
  }

  /** @throws ValiseError configuration_invalid when a variable is set that nobody has taken */
  assertAllTaken(): void {
    const [unknown] = this.#texts.keys();
    if (unknown !== undefined) throw invalidSetting(unknown, 'is not a setting of this program');
  }
}

export function invalidSetting(setting: string, rule: string): ValiseError {
  return new ValiseError('configuration_invalid', { setting, rule });
}
