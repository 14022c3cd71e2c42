import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { ProjectedFile } from './projected-file.js';
import { CustodyError } from './secret-custody.js';

/** A file below the root, by the name that its reference gives it. */
export interface Projection {
  readonly name: string;
  readonly maxBytes: number;
}

const groups = new Set([...(process.getgroups?.() ?? []), process.getgid?.() ?? -1]);

/**
 * The content of all of `projections`, in their order and of one generation: every file is opened before any is read.
 * It blocks for as long as the file system does.
 * @throws CustodyError; then nothing is kept of what was read before it
 */
export function readProjections(
  directory: string,
  projections: readonly Projection[],
): Buffer<ArrayBuffer>[] {
  const root = realRoot(directory);
  const generation = generationOf(root);
  const files: ProjectedFile[] = [];
  const read: Buffer<ArrayBuffer>[] = [];
  try {
    for (const { name, maxBytes } of projections)
      files.push(ProjectedFile.open(root, name, maxBytes, groups));
    if (generationOf(root) !== generation) throw new CustodyError('torn', null);
    for (const file of files) read.push(file.read());
    return read;
  } catch (error) {
    for (const bytes of read) bytes.fill(0);
    throw error;
  } finally {
    for (const file of files) file.close();
  }
}

function realRoot(directory: string): string {
  try {
    return realpathSync.native(directory);
  } catch {
    throw new CustodyError('root_unavailable', null);
  }
}

/** What Kubernetes' `..data` points to: another name for each generation. Null for a plain directory. */
function generationOf(root: string): string | null {
  try {
    const name = join(root, '..data');
    // Where there is none, to be told so by an error costs as much as a file.
    return lstatSync(name, { throwIfNoEntry: false }) ? readlinkSync(name) : null;
  } catch {
    return null;
  }
}
