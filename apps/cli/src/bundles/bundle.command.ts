import { writeFileSync } from 'node:fs';
import { writeEnvironmentBundle } from '@valise/contracts/documents';
import { errnoOf, Refusal } from '../refusal.js';
import { readBundleFile } from './bundle-file.js';
import { inspectBundle, type BundleReport } from './bundle-report.js';

/** Says on standard error what the file holds and what is wrong with it. @throws Refusal when it is no bundle */
export function checkBundle(path: string): void {
  report(path, inspectBundle(readBundleFile(path)));
}

/**
 * Writes the canonical carrier of a dotenv file (or of a carrier) to a new file, 0600, or to standard output.
 * @throws Refusal when it is no bundle: nothing is written then
 */
export function packBundle(path: string, output: string | undefined): void {
  const entries = readBundleFile(path);
  report(path, inspectBundle(entries));
  const carrier = writeEnvironmentBundle(entries.map(({ name, value }) => ({ name, value })));
  if (output === undefined) {
    process.stdout.write(carrier);
    return;
  }
  try {
    writeFileSync(output, carrier, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw new Refusal(`${output} cannot be written as a new file (${errnoOf(error) ?? 'unknown'}).`, 2);
  }
}

function report(path: string, found: BundleReport): void {
  console.error(
    `${found.entries} entries, ${found.totalBytes} bytes of names and values, carrier ${found.carrierBytes} bytes (${found.escapingBytes} of them by escaping)`,
  );
  if (found.largestString) {
    console.error(
      `largest environment string: ${found.largestString.bytes} bytes (${found.largestString.place})`,
    );
  }
  for (const [kind, places] of found.refusedNames) {
    console.error(`refused names, class ${kind}: ${places.length} (${places.join(', ')})`);
  }
  for (const { place, rule } of found.warnings) console.error(`warning, ${place}: ${rule}`);
  refuseProblems(path, found);
}

/** @throws Refusal (exit code 2) that lists every problem */
export function refuseProblems(path: string, { problems }: BundleReport): void {
  if (problems.length === 0) return;
  throw new Refusal(problems.map(({ place, rule }) => `${path}, ${place}: ${rule}.`).join('\n'), 2);
}
