import { readFileSync } from 'node:fs';
import { parseEnvironmentBundle } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import { errnoOf, Refusal } from '../refusal.js';
import type { PlacedEntry } from './bundle-report.js';
import { DotenvError, parseDotenv } from './dotenv.js';

/** The entries of a dotenv file, each with its line. @throws Refusal (exit code 2) with the rule and the line */
export function readDotenvFile(path: string): PlacedEntry[] {
  return dotenvEntries(readInput(path), path);
}

export function dotenvEntries(bytes: Uint8Array, path: string): PlacedEntry[] {
  try {
    return parseDotenv(bytes).map(({ name, value, line }) => ({ name, value, place: `line ${line}` }));
  } catch (error) {
    if (error instanceof DotenvError) throw new Refusal(`${path}, line ${error.line}: ${error.rule}.`, 2);
    throw error;
  }
}

/**
 * The entries of a dotenv file or of a carrier, which starts with a brace where a dotenv file cannot.
 * @throws Refusal (exit code 2)
 */
export function readBundleFile(path: string): PlacedEntry[] {
  const bytes = readInput(path);
  if (!/^\s*\{/.test(Buffer.from(bytes.subarray(0, 64)).toString('latin1')))
    return dotenvEntries(bytes, path);
  try {
    return parseEnvironmentBundle(bytes).entries.map(({ name, value }, index) => {
      return { name, value, place: `entry ${index + 1} in canonical order` };
    });
  } catch (error) {
    if (!(error instanceof ValiseError)) throw error;
    throw new Refusal(`${path} is no bundle: ${error.message}`, 2);
  }
}

/** @throws Refusal (exit code 2) */
export function readInput(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Refusal(`${path} cannot be read (${errnoOf(error) ?? 'unknown'}).`, 2);
  }
}
