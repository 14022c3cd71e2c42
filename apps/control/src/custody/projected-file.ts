import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  type BigIntStats,
} from 'node:fs';
import { join, sep } from 'node:path';
import { CustodyError, type CustodyFault } from './secret-custody.js';

const FAULTS: Readonly<Record<string, CustodyFault>> = {
  // The name is there but what it leads to is gone: its generation was replaced at this moment.
  ENOENT: 'torn',
  ENOTDIR: 'torn',
  EACCES: 'unreadable',
  EPERM: 'unreadable',
  ELOOP: 'outside_root',
};

/** What of the file's mode counts against it: exec for anyone, anything for others, write for the group. */
const FORBIDDEN_MODE = 0o137n;
const GROUP_READ = 0o040n;

/** An open projection, judged before any byte is read. Its calls block: they belong in a thread of their own. */
export class ProjectedFile {
  private constructor(
    private readonly name: string,
    private readonly descriptor: number,
    private readonly before: BigIntStats,
  ) {}

  /**
   * Opens the projection `name` below `root` (a real path). Symlinks are followed inside the root only (Kubernetes swaps
   * `..data` for a new generation); what they lead to is opened without following anything further.
   * @throws CustodyError with the precise fault
   */
  static open(root: string, name: string, maxBytes: number, groups: ReadonlySet<number>): ProjectedFile {
    let descriptor: number | undefined;
    try {
      const entry = join(root, name);
      assertPresent(entry, name);
      const path = realpathSync.native(entry);
      if (!path.startsWith(root + sep)) throw new CustodyError('outside_root', name);
      // O_NONBLOCK: a FIFO must not hold us; it is refused below.
      descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const stats = fstatSync(descriptor, { bigint: true });
      assertTrustworthy(name, stats, maxBytes, groups);
      // A directory on the way may have become a link since realpath: the descriptor knows where it really lies.
      const opened = readlinkSync(`/proc/self/fd/${descriptor}`);
      if (opened !== path)
        throw new CustodyError(opened.startsWith(root + sep) ? 'torn' : 'outside_root', name);
      return new ProjectedFile(name, descriptor, stats);
    } catch (error) {
      if (descriptor !== undefined) closeSync(descriptor);
      throw asFault(error, name);
    }
  }

  /** The whole content, in a buffer of its own. @throws CustodyError torn, when the file changed under the read */
  read(): Buffer<ArrayBuffer> {
    const size = Number(this.before.size);
    // One byte more than expected, so that a file that grew is seen; never a pooled or in-heap buffer (memory.md).
    const bytes = Buffer.from(new ArrayBuffer(Math.max(size + 1, 128)));
    try {
      let length = 0;
      for (;;) {
        const bytesRead = readSync(this.descriptor, bytes, length, size + 1 - length, length);
        length += bytesRead;
        if (bytesRead === 0 || length > size) break;
      }
      const after = fstatSync(this.descriptor, { bigint: true });
      const { before } = this;
      const same = after.size === before.size && after.ino === before.ino && after.mtimeNs === before.mtimeNs;
      if (length !== size || !same) throw new CustodyError('torn', this.name);
      return bytes.subarray(0, size);
    } catch (error) {
      bytes.fill(0);
      throw asFault(error, this.name);
    }
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

/** A name that is not there is missing; one that leads nowhere is a generation being replaced. */
function assertPresent(entry: string, name: string): void {
  try {
    lstatSync(entry);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new CustodyError('missing', name);
    throw error;
  }
}

function assertTrustworthy(
  name: string,
  stats: BigIntStats,
  maxBytes: number,
  groups: ReadonlySet<number>,
): void {
  if (stats.nlink === 0n) throw new CustodyError('torn', name);
  if (!stats.isFile() || stats.nlink !== 1n) throw new CustodyError('not_a_file', name);
  const foreignGroup = (stats.mode & GROUP_READ) !== 0n && !groups.has(Number(stats.gid));
  if ((stats.mode & FORBIDDEN_MODE) !== 0n || foreignGroup) throw new CustodyError('over_permissive', name);
  if (stats.size > BigInt(maxBytes)) throw new CustodyError('too_large', name);
}

function asFault(error: unknown, name: string): CustodyError {
  if (error instanceof CustodyError) return error;
  const { code } = error as NodeJS.ErrnoException;
  return new CustodyError(FAULTS[code ?? ''] ?? 'unreadable', name);
}
