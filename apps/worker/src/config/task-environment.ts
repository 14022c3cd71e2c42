import { readFileSync } from 'node:fs';
import { parseJson } from '@valise/contracts/documents';
import { absolutePath, RuleBroken } from '@valise/contracts/settings';
import { UNCARRIED_NAMES } from '../execution/launch-shell.js';

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const MAX_VARIABLES = 64;
const MAX_VALUE_LENGTH = 4096;
/** PATH has a setting of its own. */
const SET_ELSEWHERE = 'PATH';

/**
 * What the operator gives to every task: the setting names a file with one JSON object of names and texts. None of it is
 * masked in a log, so it is no place for secrets.
 */
export function taskEnvironment(text: string): ReadonlyMap<string, string> {
  const entries = Object.entries(readObject(absolutePath(text)));
  if (entries.length > MAX_VARIABLES) throw new RuleBroken(`must have ${MAX_VARIABLES} variables at most`);
  return new Map(entries.map(([name, value]) => [carried(name), plain(value)]));
}

function readObject(path: string): object {
  try {
    const json = parseJson(readFileSync(path));
    if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json;
  } catch {
    // What stands in the file is not repeated.
  }
  throw new RuleBroken('must name a file with one JSON object');
}

function carried(name: string): string {
  if (!NAME.test(name) || name.startsWith('QL3_') || name === SET_ELSEWHERE || UNCARRIED_NAMES.has(name)) {
    throw new RuleBroken('must have names that a task can be given, without PATH and QL3_…');
  }
  return name;
}

function plain(value: unknown): string {
  if (typeof value !== 'string' || value.length > MAX_VALUE_LENGTH || value.includes('\0')) {
    throw new RuleBroken(`must have texts of ${MAX_VALUE_LENGTH} characters at most, without NUL`);
  }
  return value;
}
