import { chmod, stat } from 'node:fs/promises';

const READ_ONLY = 0o400;

/**
 * Says on the disk that the log has everything the task wrote: it is read-only from now on. A crash before that, and a
 * disk that does not take it, leave a log that is known to be cut.
 */
export async function sealLog(path: string): Promise<void> {
  await chmod(path, READ_ONLY).catch(() => undefined);
}

export async function isSealed(path: string): Promise<boolean> {
  try {
    return ((await stat(path)).mode & 0o777) === READ_ONLY;
  } catch {
    return false;
  }
}
