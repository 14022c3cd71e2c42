import { readFileSync, statSync, type BigIntStats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { ValiseError } from '@valise/contracts/failure';
import { invalidSetting } from '@valise/contracts/settings';

const MAX_FILE_BYTES = 32n * 1024n * 1024n;

/** The content of the file that a setting names. */
export type ContentOf = (setting: string) => Buffer;

/** What the files say, from their contents alone. @throws ValiseError configuration_invalid */
export type Parse<T> = (contentOf: ContentOf) => T;

/**
 * Something that files say, as of when they were last good. All of them are of one moment: files that change while they
 * are read are not taken.
 */
export class LiveFiles<T> {
  private constructor(
    private readonly files: ReadonlyMap<string, string>,
    private readonly parse: Parse<T>,
    private generation: string,
    private inForce: T,
  ) {}

  /** @throws ValiseError configuration_invalid where a file cannot be read, or says what `parse` refuses */
  static open<T>(files: ReadonlyMap<string, string>, parse: Parse<T>): LiveFiles<T> {
    const contents = new Map<string, Buffer>();
    const generation: string[] = [];
    for (const [setting, path] of files) {
      try {
        generation.push(identify(statSync(path, { bigint: true }), setting));
        contents.set(setting, readFileSync(path));
      } catch (error) {
        throw asRefusal(error, setting);
      }
    }
    return new LiveFiles(files, parse, generation.join(), parse(readerOf(contents)));
  }

  get current(): T {
    return this.inForce;
  }

  /**
   * Reads the files again unless they are those in force. Whatever is thrown, `current` stays what it was, and the next
   * call tries again. Answers whether `current` is new.
   * @throws ValiseError configuration_invalid, also when the files changed while they were read
   */
  async refresh({ always }: { readonly always: boolean }): Promise<boolean> {
    const generation = await this.look();
    if (!always && generation === this.generation) return false;
    const contents = new Map<string, Buffer>();
    for (const [setting, path] of this.files) {
      contents.set(
        setting,
        await readFile(path).catch((error: unknown) => Promise.reject(asRefusal(error, setting))),
      );
    }
    const next = this.parse(readerOf(contents));
    if ((await this.look()) !== generation) {
      const [setting = ''] = this.files.keys();
      throw invalidSetting(setting, 'must stay as it is while it is read');
    }
    this.inForce = next;
    this.generation = generation;
    return true;
  }

  /** Which files these are now, through every link: a link that was turned to another file makes another generation. */
  private async look(): Promise<string> {
    const looks = [...this.files].map(async ([setting, path]) => {
      try {
        return identify(await stat(path, { bigint: true }), setting);
      } catch (error) {
        throw asRefusal(error, setting);
      }
    });
    return (await Promise.all(looks)).join();
  }
}

/** A change time cannot be set back, so no writer hides a change. What is no file might never end. */
function identify(stats: BigIntStats, setting: string): string {
  if (!stats.isFile() || stats.size > MAX_FILE_BYTES)
    throw invalidSetting(setting, `must name a file of at most ${MAX_FILE_BYTES} bytes`);
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(':');
}

function readerOf(contents: ReadonlyMap<string, Buffer>): ContentOf {
  return (setting) => {
    const content = contents.get(setting);
    if (!content) throw new Error(`${setting} is not among these files`);
    return content;
  };
}

function asRefusal(error: unknown, setting: string): ValiseError {
  return error instanceof ValiseError ? error : invalidSetting(setting, 'names a file that cannot be read');
}
