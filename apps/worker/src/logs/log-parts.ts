import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { writeLogRecords } from '@valise/contracts/documents';

/** The first part of a log that is not whole; once it is whole, the first part stands at the log's own path. */
export const headOf = (path: string): string => `${path}.part-0`;
export const partOf = (path: string, part: number): string => `${path}.part-${part}`;
/** What is missing from a log that was cut, as a record. */
export const markOf = (path: string): string => `${path}.missing`;

/** More than the record takes that says what is missing. In bytes. */
export const MARK_BYTES = 256;

/** Says how many bytes are missing; null where nobody knows. */
export function missingRecord(missing: number | null): Buffer {
  const howMuch = missing === null ? 'An unknown part' : `${missing} bytes`;
  return writeLogRecords('valise', Date.now(), Buffer.from(`${howMuch} of the output could not be kept.\n`));
}

/** Those after the first, in their order. */
export async function laterPartsOf(path: string): Promise<string[]> {
  const start = `${basename(path)}.part-`;
  const names = (await readdir(dirname(path))).filter((name) => name.startsWith(start));
  const parts = names.map((name) => Number(name.slice(start.length))).filter((part) => part > 0);
  return parts.sort((one, other) => one - other).map((part) => partOf(path, part));
}

/** Nothing of the log is left. */
export async function removeLog(path: string): Promise<void> {
  for (const name of await readdir(dirname(path))) {
    if (name === basename(path) || name.startsWith(`${basename(path)}.`)) await rm(join(dirname(path), name));
  }
}
