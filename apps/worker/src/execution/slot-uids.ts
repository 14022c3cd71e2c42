import { readFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { invalidSetting } from '@valise/contracts/settings';
import { makePrivateDirectory } from '../inbox/durable-directory.js';
import { lockFile } from '../inbox/file-lock.js';

const SETTING = 'VALISE_SLOT_UID_BASE';
/** One for the whole machine, whatever state directories its workers have. */
export const LOCK_DIRECTORY = '/run/valise';
const ID_FIELD = 2;

/** User ids that are this process's alone: whoever else ran tasks under them would end ours and read them. */
export class SlotUids {
  /** Of a worker whose slots have none of their own. */
  static readonly NONE = new SlotUids([]);

  private constructor(private readonly locks: readonly FileHandle[]) {}

  /**
   * Nobody else has an account of these ids, and no other worker of this machine has reserved one.
   * @throws ValiseError configuration_invalid naming the setting and the rule
   */
  static async reserve(uids: readonly number[], directory = LOCK_DIRECTORY): Promise<SlotUids> {
    await assertUnnamed(uids);
    const locks: FileHandle[] = [];
    try {
      await makePrivateDirectory(directory);
      for (const uid of uids) {
        const lock = await lockFile(join(directory, `slot-uid-${uid}.lock`));
        if (!lock) throw invalidSetting(SETTING, 'names user ids that another worker of this machine uses');
        locks.push(lock);
      }
    } catch (error) {
      await new SlotUids(locks).release();
      throw isLockFailure(error) ? invalidSetting(SETTING, `needs ${directory} to be writable`) : error;
    }
    return new SlotUids(locks);
  }

  /** Another worker may have them. */
  async release(): Promise<void> {
    await Promise.all(this.locks.map((lock) => lock.close()));
  }
}

/**
 * A slot's uid is its gid too, so neither may be somebody's.
 * @throws ValiseError configuration_invalid naming the setting and the rule
 */
export async function assertUnnamed(uids: readonly number[]): Promise<void> {
  for (const file of ['/etc/passwd', '/etc/group']) {
    const lines = (await textOf(file)).split('\n');
    const named = new Set(lines.map((line) => line.split(':')[ID_FIELD]));
    if (uids.some((uid) => named.has(String(uid)))) {
      throw invalidSetting(SETTING, `names ids that are listed in ${file}`);
    }
  }
}

/** A machine without accounts has no such file. */
async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

const isLockFailure = (error: unknown): boolean => (error as NodeJS.ErrnoException).syscall !== undefined;
