import { readdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../refusal.js';
import type { Pattern } from './needles.js';
import { PatternMatcher } from './pattern-matcher.js';
import type { TaskOutput } from './task-output.js';

/** Where a pattern turned up first in one place. */
export interface Sighting {
  readonly pattern: Pattern;
  /** A file's path or `schema.table.column`. */
  readonly place: string;
  readonly offset: number;
}

const CHUNK_BYTES = 1024 * 1024;
/** How much of the surroundings a sighting is judged by. */
const CONTEXT_BYTES = 8;

/** Looks for patterns in whatever it is given, and remembers what it saw and how much it read. */
export class Search {
  searchedBytes = 0;
  readonly #sightings = new Map<string, Sighting>();
  readonly #matcher: PatternMatcher;

  /** What the task itself printed is not a sighting: `printed` tells it by its surroundings. */
  constructor(
    patterns: readonly Pattern[],
    private readonly printed: TaskOutput | null = null,
  ) {
    this.#matcher = new PatternMatcher(patterns);
  }

  get sightings(): readonly Sighting[] {
    return [...this.#sightings.values()];
  }

  get seenPatterns(): ReadonlySet<Pattern> {
    return new Set(this.sightings.map(({ pattern }) => pattern));
  }

  /** A piece that is whole in memory: a column of a row. */
  bytes(piece: Buffer, place: string): void {
    this.searchedBytes += piece.length;
    this.#look(piece, 0, piece.length, 0, place);
  }

  /** Every regular file below `directory`, hidden ones too; links are not followed. */
  async tree(directory: string, except: readonly string[] = []): Promise<void> {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name);
      if (except.includes(path)) continue;
      if (entry.isDirectory()) await this.tree(path, except);
      else if (entry.isFile()) await this.file(path);
    }
  }

  /** A file of any size, in pieces that overlap by what a pattern may need. A file that is gone is passed over. */
  async file(path: string): Promise<void> {
    const overlap = this.#matcher.longest + 2 * CONTEXT_BYTES;
    const buffer = Buffer.alloc(overlap + CHUNK_BYTES);
    const handle = await open(path, 'r').catch((error: unknown) => {
      if (errnoOf(error) === 'ENOENT') return null;
      throw error;
    });
    if (!handle) return;
    try {
      // [0, kept) was read before; an occurrence is looked for once, when all that follows it is here.
      for (let offset = 0, kept = 0, looked = 0; ;) {
        const { bytesRead } = await handle.read(buffer, kept, buffer.length - kept);
        this.searchedBytes += bytesRead;
        const length = kept + bytesRead;
        const last = bytesRead === 0;
        const until = last ? length : Math.max(looked, length - this.#matcher.longest - CONTEXT_BYTES);
        this.#look(buffer.subarray(0, length), looked, until, offset, path);
        if (last) return;
        const drop = Math.max(0, until - CONTEXT_BYTES);
        buffer.copyWithin(0, drop, length);
        offset += drop;
        kept = length - drop;
        looked = until - drop;
      }
    } finally {
      await handle.close();
    }
  }

  #look(window: Buffer, from: number, to: number, offset: number, place: string): void {
    this.#matcher.match(window, from, to, (pattern, at) => {
      const key = `${place}\0${pattern.bytes.toString('latin1')}`;
      if (this.#sightings.has(key)) return;
      const end = at + pattern.bytes.length;
      const before = window.subarray(Math.max(0, at - CONTEXT_BYTES), at);
      const after = window.subarray(end, end + CONTEXT_BYTES);
      if (this.printed?.explains(pattern, before, after)) return;
      this.#sightings.set(key, { pattern, place, offset: offset + at });
    });
  }
}
