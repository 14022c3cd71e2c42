import { randomBytes } from 'node:crypto';
import { createSecretReference, writeEnvironmentBundle } from '@valise/contracts/documents';
import type { Material } from '../support/lease-stock.js';
import { PROJECT } from '../support/published-task.js';

const VALUE_BYTES = 15 * 1024;
const ENTRIES_BYTES = 64 * 1024;
const NAME_BYTES = 9;

/** A task with one secret and a bundle whose carrier has about so many bytes. */
export function bundleOf(kib: number): Material {
  return { secrets: secrets(1), bundle: bundle(kib * 1024) };
}

/** A task with so many secrets and no bundle. */
export function secretsOf(count: number): Material {
  return { secrets: secrets(count), bundle: null };
}

/** A task whose bundle has so many entries and always 16 KiB. */
export function entriesOf(count: number): Material {
  const each = Math.floor((16 * 1024) / count);
  return { secrets: secrets(1), bundle: carrier(Array.from({ length: count }, () => printable(each - 40))) };
}

function secrets(count: number): Map<string, Buffer> {
  const name = randomBytes(6).toString('hex');
  return new Map(
    Array.from({ length: count }, (_, index) => [
      createSecretReference({ projectId: PROJECT, name: `${name}-${index}` }),
      Buffer.from(printable(64)),
    ]),
  );
}

/** More than 64 KiB of carrier is possible only where values need escapes: then every other byte is one. */
function bundle(bytes: number): NonNullable<Material['bundle']> {
  const values: string[] = [];
  if (bytes <= ENTRIES_BYTES) {
    for (let rest = bytes - 60; rest > 0; rest -= VALUE_BYTES) {
      values.push(printable(Math.max(1, Math.min(rest, VALUE_BYTES) - 32)));
    }
  } else {
    const each = Math.floor(ENTRIES_BYTES / 5) - NAME_BYTES;
    const lines = Math.floor((bytes - ENTRIES_BYTES - 300) / 5);
    for (let index = 0; index < 5; index += 1) values.push('\n'.repeat(lines) + printable(each - lines));
  }
  return carrier(values);
}

function carrier(values: readonly string[]): NonNullable<Material['bundle']> {
  const entries = values.map((value, index) => ({ name: `ENTRY_${String(index).padStart(3, '0')}`, value }));
  const reference = createSecretReference({
    projectId: PROJECT,
    name: randomBytes(6).toString('hex'),
    version: 1,
  });
  return { reference, carrier: Buffer.from(writeEnvironmentBundle(entries)) };
}

/** Text as keys and tokens are: every value its own. */
function printable(bytes: number): string {
  return randomBytes(Math.ceil(bytes)).toString('base64url').slice(0, bytes);
}
