import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { environmentNameBreach } from '../documents/index.js';
import { RuleBroken, type Rule } from './settings.js';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Where a listener listens; port 0 takes any free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

function expect(condition: boolean, rule: string): void {
  if (!condition) throw new RuleBroken(rule);
}

export function absolutePath(text: string): string {
  expect(isAbsolute(text) && !text.includes('\0'), 'must be an absolute path');
  return text;
}

/** The trimmed content of the file that the variable names: secrets come as files, never as variables. */
export function fileContent(text: string): string {
  const path = absolutePath(text);
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    throw new RuleBroken('names a file that cannot be read');
  }
}

export function listenAddress(text: string): ListenAddress {
  const [, host = '', port = ''] = /^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):(\d{1,5})$/.exec(text) ?? [];
  expect(host !== '' && Number(port) <= 65_535, 'must be host:port');
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}

/** An https URL without path, query or credentials. */
export function httpsOrigin(text: string): URL {
  expect(URL.canParse(text), 'must be an https origin');
  const url = new URL(text);
  expect(url.protocol === 'https:' && `${url.origin}/` === url.href, 'must be an https origin');
  return url;
}

export function trustDomain(text: string): string {
  expect(/^[a-z0-9._-]{1,255}$/.test(text), 'must be a SPIFFE trust domain');
  return text;
}

export function flag(text: string): boolean {
  expect(text === 'true' || text === 'false', 'must be true or false');
  return text === 'true';
}

export function oneOf<const T extends string>(...choices: readonly T[]): Rule<T> {
  return (text) => {
    const choice = choices.find((candidate) => candidate === text);
    if (choice === undefined) throw new RuleBroken(`must be one of ${choices.join(', ')}`);
    return choice;
  };
}

/** A whole number from `min` to `max`, in decimal digits. */
export function integer(min: number, max: number): Rule<number> {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    expect(value >= min && value <= max, `must be a whole number from ${min} to ${max}`);
    return value;
  };
}

/** Every part of a list, judged by `rule`. */
export function listOf<T>(separator: string, rule: Rule<T>): Rule<readonly T[]> {
  return (text) => text.split(separator).map(rule);
}

/** Names of environment variables, separated by commas. */
export function variableNames(text: string): ReadonlySet<string> {
  const names = text.split(',');
  expect(
    names.every((name) => environmentNameBreach(name) === null),
    'must be names of variables',
  );
  return new Set(names);
}
