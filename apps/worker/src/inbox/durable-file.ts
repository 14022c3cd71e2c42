import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What a write that never ended leaves behind; it was never a record. */
export const UNFINISHED_SUFFIX = '.unfinished';

/** `path` holds exactly `bytes`, also after a power cut; a crash on the way leaves what was there before. */
export async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const unfinished = `${path}${UNFINISHED_SUFFIX}`;
  const file = await open(unfinished, 'w', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
  await syncDirectory(dirname(path));
}

/** `path` is gone, also after a power cut. */
export async function removeDurably(path: string): Promise<void> {
  await rm(path, { force: true });
  await syncDirectory(dirname(path));
}

/** The directory exists and is the owner's alone. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const directory = await open(path, 'r');
  try {
    await directory.chmod(0o700);
  } finally {
    await directory.close();
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
