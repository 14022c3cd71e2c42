import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { ValiseError } from '@valise/contracts/failure';

/** Where a listener listens; port 0 takes any free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * Reads the settings of one program, once and strictly. A rule receives the raw text and returns the value, or throws a
 * sentence that names what is expected; the refusal names the variable and that rule, never the text.
 */
export class Settings {
  readonly #values: Map<string, string>;

  constructor(environment: NodeJS.ProcessEnv) {
    this.#values = new Map(
      Object.entries(environment).filter(
        (entry): entry is [string, string] => entry[0].startsWith('VALISE_') && entry[1] !== undefined,
      ),
    );
  }

  /** @throws ValiseError configuration_invalid, when it is missing and has no `fallback`, or breaks its rule. */
  take<T>(variable: string, rule: (text: string) => T, fallback?: T): T {
    const text = this.#values.get(variable);
    this.#values.delete(variable);
    if (text === undefined) {
      if (fallback === undefined) throw invalid(variable, 'is required');
      return fallback;
    }
    try {
      return rule(text);
    } catch (error) {
      throw invalid(variable, error instanceof RuleBroken ? error.message : 'cannot be read');
    }
  }

  /** @throws ValiseError configuration_invalid, when a variable of ours was set that nobody took. */
  assertAllTaken(): void {
    const [unknown] = this.#values.keys();
    if (unknown !== undefined) throw invalid(unknown, 'is not a setting of this program');
  }
}

/** The sentence of a broken rule; it never quotes the text. */
class RuleBroken extends Error {}

function invalid(variable: string, rule: string): ValiseError {
  return new ValiseError('configuration_invalid', { variable, rule });
}

function expect(condition: boolean, rule: string): void {
  if (!condition) throw new RuleBroken(rule);
}

export function absolutePath(text: string): string {
  expect(isAbsolute(text), 'must be an absolute path');
  return text;
}

/** The trimmed content of the file that the variable names: secrets come as files, never as variables. */
export function fileContent(text: string): string {
  try {
    return readFileSync(absolutePath(text), 'utf8').trim();
  } catch (error) {
    throw error instanceof RuleBroken ? error : new RuleBroken('names a file that cannot be read');
  }
}

export function listenAddress(text: string): ListenAddress {
  const [, host, digits] = /^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  expect(host !== undefined && port <= 65535, 'must be host:port');
  return { host: String(host).replace(/^\[|\]$/g, ''), port };
}

export function trustDomain(text: string): string {
  expect(/^[a-z0-9._-]{1,255}$/.test(text), 'must be a SPIFFE trust domain');
  return text;
}

export function oneOf<T extends string>(...choices: readonly T[]): (text: string) => T {
  return (text) => {
    const choice = choices.find((candidate) => candidate === text);
    if (choice === undefined) throw new RuleBroken(`must be one of ${choices.join(', ')}`);
    return choice;
  };
}

export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    expect(
      /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max,
      `must be a whole number from ${min} to ${max}`,
    );
    return Number(text);
  };
}
