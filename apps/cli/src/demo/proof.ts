import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from 'pg';
import { Refusal } from '../refusal.js';
import { searchDatabase } from './database-search.js';
import { isSearchable, patternsOf, type Needle, type Pattern } from './needles.js';
import { Search, type Sighting } from './search.js';
import { TaskOutput } from './task-output.js';

/** Where things may have been written down. */
export interface Surface {
  /** The demo's database, as an account that may read all of it. */
  readonly database: Client;
  /** Directories and files that are searched byte by byte. */
  readonly paths: readonly string[];
  /** What below them is not: the mounted secrets themselves, and programs that were copied. */
  readonly except: readonly string[];
  /** Where the decoy file is put. */
  readonly temporary: string;
  /** Whether the database's own files are among `paths`. */
  readonly databaseFiles: string | null;
}

export interface ProofResult {
  readonly searchedBytes: number;
  /** How many needles were searched for. */
  readonly needles: number;
  readonly found: readonly Sighting[];
  readonly taskOutput: { readonly names: number; readonly values: number };
}

const DECOY_TABLE = 'valise_demo_decoy';

/** The proof that no name and no value was written down, and that the search would have seen it. */
export class Proof {
  /** Too short to be searched for. */
  readonly unsearchable: readonly Needle[];
  readonly #searchable: readonly Needle[];
  readonly #all: readonly Pattern[];
  #patterns: readonly Pattern[];
  #notDistinguishable: readonly Needle[] = [];

  constructor(needles: readonly Needle[]) {
    this.#searchable = needles.filter(isSearchable);
    this.unsearchable = needles.filter((needle) => !isSearchable(needle));
    this.#all = patternsOf(this.#searchable);
    this.#patterns = this.#all;
  }

  /** Needles that were there before anything of the bundle was, so that finding them says nothing. */
  get notDistinguishable(): readonly Needle[] {
    return this.#notDistinguishable;
  }

  /**
   * Takes out of the search whatever the surface, our own programs or the task's public definition contain anyway.
   * Called before the bundle is laid anywhere.
   */
  async learn(surface: Surface, programs: readonly string[], publicTexts: readonly string[]): Promise<void> {
    const search = new Search(this.#patterns);
    await searchAll(search, surface);
    for (const program of programs) await search.tree(program);
    for (const text of publicTexts) search.bytes(Buffer.from(text), 'the task definition');
    const seen = search.seenPatterns;
    const whole = [...seen].filter(({ form, part }) => form === 'raw' && part === 'whole');
    this.#notDistinguishable = this.#searchable.filter(({ bytes }) =>
      whole.some((pattern) => pattern.bytes.equals(bytes)),
    );
    this.#patterns = this.#patterns.filter((pattern) => !seen.has(pattern));
  }

  /**
   * Searches everywhere. `log` is what the task printed; names in it are counted apart, also where it is stored.
   * @throws Refusal when a decoy that was planted was not seen: then the search proves nothing
   */
  async search(surface: Surface, log: Buffer): Promise<ProofResult> {
    const printed = new TaskOutput(log, this.#all);
    const decoy = await Decoy.plant(surface);
    try {
      const search = new Search([...this.#patterns, ...decoy.patterns], printed);
      await searchAll(search, surface);
      decoy.assertSeen(search.sightings);
      return {
        searchedBytes: search.searchedBytes,
        needles: this.#searchable.length - this.#notDistinguishable.length,
        found: search.sightings.filter(({ pattern }) => !decoy.patterns.includes(pattern)),
        taskOutput: { names: printed.count('name'), values: printed.count('value') },
      };
    } finally {
      await decoy.remove();
    }
  }
}

async function searchAll(search: Search, surface: Surface): Promise<void> {
  for (const path of surface.paths) await search.tree(path, surface.except);
  await searchDatabase(surface.database, search);
}

/** Text that is put on purpose wherever the search looks, and must be seen there. */
class Decoy {
  readonly patterns: readonly Pattern[];

  private constructor(
    private readonly surface: Surface,
    text: string,
    private readonly file: string,
  ) {
    this.patterns = patternsOf([{ label: 'the decoy', kind: 'value', bytes: Buffer.from(text) }]);
  }

  static async plant(surface: Surface): Promise<Decoy> {
    const text = `decoy-${randomBytes(24).toString('hex')}`;
    const decoy = new Decoy(surface, text, join(surface.temporary, 'decoy'));
    const { database } = surface;
    await database.query(`CREATE TABLE ${DECOY_TABLE} (short text, long text)`);
    // The long one is compressed on disk: only SQL shows it.
    await database.query(`INSERT INTO ${DECOY_TABLE} VALUES ($1, $2)`, [
      text,
      `${' '.repeat(100_000)}${text}`,
    ]);
    await checkpoint(database);
    const encoded = Buffer.from(`user:${text}`).toString('base64');
    writeFileSync(decoy.file, `${'.'.repeat(1024 * 1024 - 20)}${encoded}`, { mode: 0o600 });
    return decoy;
  }

  assertSeen(sightings: readonly Sighting[]): void {
    const places = sightings
      .filter(({ pattern }) => this.patterns.includes(pattern))
      .map(({ place }) => place);
    const seen =
      places.includes(this.file) &&
      ['short', 'long'].every((column) => places.includes(`public.${DECOY_TABLE}.${column}`)) &&
      (this.surface.databaseFiles === null ||
        places.some((place) => place.startsWith(`${this.surface.databaseFiles ?? ''}/`)));
    if (!seen) throw new Refusal('The search did not see a decoy that was planted, so it proves nothing.');
  }

  async remove(): Promise<void> {
    rmSync(this.file, { force: true });
    await this.surface.database.query(`DROP TABLE IF EXISTS ${DECOY_TABLE}`);
  }
}

/** Everything that is in PostgreSQL's memory is in its files afterwards, where the account may ask for that. */
async function checkpoint(database: Client): Promise<void> {
  const { rows } = await database.query<{ may: boolean }>(
    `SELECT rolsuper OR pg_has_role(current_user, 'pg_checkpoint', 'MEMBER') AS may
       FROM pg_roles WHERE rolname = current_user`,
  );
  if (rows[0]?.may) await database.query('CHECKPOINT');
}
