import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { once } from 'node:events';

/**
 * Locks the file for this process, or returns null when another holds it. The kernel frees the lock with its holder,
 * however that ends, so a stale lock cannot exist: flock(1) locks the open file description that we keep, and no child
 * inherits it.
 */
export async function lockFile(path: string): Promise<FileHandle | null> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
  const file = await open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    const flock = spawn('flock', ['-xn', '3'], { env: {}, stdio: ['ignore', 'ignore', 'ignore', file.fd] });
    const [code] = (await once(flock, 'exit')) as [number | null];
    if (code === 0) return file;
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return null;
}
