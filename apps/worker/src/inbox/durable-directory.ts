import { constants, mkdir, open, readdir, rename, rm, type FileHandle } from 'node:fs/promises';

/** What a write that never ended leaves behind; it was never a record. */
export const UNFINISHED_SUFFIX = '.unfinished';

const { O_CREAT, O_DIRECTORY, O_DSYNC, O_RDONLY, O_TRUNC, O_WRONLY } = constants;
/** Each write is on the disk when it returns, as after fdatasync. */
const WRITE_THROUGH = O_WRONLY | O_CREAT | O_TRUNC | O_DSYNC;

/**
 * A directory of files that are its owner's alone, each of which is there as it was written or not at all, also after a
 * power cut. It stays the same directory whatever happens to its path.
 */
export class DurableDirectory {
  private constructor(private readonly handle: FileHandle) {}

  static async open(path: string): Promise<DurableDirectory> {
    await makePrivateDirectory(path);
    return new DurableDirectory(await open(path, O_RDONLY | O_DIRECTORY));
  }

  pathOf(name: string): string {
    return `/proc/self/fd/${this.handle.fd}/${name}`;
  }

  names(): Promise<string[]> {
    return readdir(this.pathOf('.'));
  }

  /** A crash on the way leaves what was there before. */
  async write(name: string, bytes: Uint8Array): Promise<void> {
    const [path, unfinished] = [this.pathOf(name), this.pathOf(name + UNFINISHED_SUFFIX)];
    const file = await open(unfinished, WRITE_THROUGH, 0o600);
    try {
      await file.writeFile(bytes);
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
    await this.handle.sync();
  }

  /** Also what is not there. */
  async remove(name: string): Promise<void> {
    await rm(this.pathOf(name), { force: true });
    await this.handle.sync();
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
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
