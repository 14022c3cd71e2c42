import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { parseEnvironmentBundle } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import { errnoOf, Refusal } from '../refusal.js';
import type { PlacedEntry } from './bundle-report.js';
import { DotenvError, parseDotenv } from './dotenv.js';

/** A bundle has at most 96 KiB; comments, quotes and white space around its entries may well be more than that. */
const MAX_INPUT_BYTES = 1024 * 1024;

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

/**
 * All of a regular file of at most `maxBytes`. A FIFO, a device or a terminal may never end, and waiting to open one
 * cannot be interrupted.
 * @throws Refusal (exit code 2)
 */
export function readInput(path: string, maxBytes = MAX_INPUT_BYTES): Uint8Array {
  let file: number | null = null;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { size } = assertRegular(path, fstatSync(file));
    const content = Buffer.alloc(maxBytes + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < content.length; length += read) {
      read = readSync(file, content, length, content.length - length, null);
    }
    if (length <= maxBytes) return content.subarray(0, length);
    throw new Refusal(`${path} has ${Math.max(size, length)} bytes, and at most ${maxBytes} are read.`, 2);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(`${path} cannot be read (${errnoOf(error) ?? 'unknown'}).`, 2);
  } finally {
    if (file !== null) closeSync(file);
  }
}

function assertRegular(path: string, stats: Stats): Stats {
  if (stats.isFile()) return stats;
  throw new Refusal(`${path} is not a regular file.`, 2);
}
