import { readFile, stat, type FileHandle } from 'node:fs/promises';
import { ValiseError } from '@valise/contracts/failure';
import { DurableDirectory, UNFINISHED_SUFFIX } from './durable-directory.js';
import { lockFile } from './file-lock.js';
import { readRecord, readSession, writeRecord, writeSession, type SessionRecord } from './inbox-document.js';
import type { Claim, InboxRecord } from './inbox-record.js';
import { advance, type InboxEvent } from './inbox-transition.js';

const LOCK = 'owner.lock';
const SESSION = 'session.json';
const SLOT = /^slot-(0|[1-9][0-9]{0,3})\.json$/;
/** An offer's plan is at most 96 KiB; what stands around it is small. */
const MAX_FILE_BYTES = 192 * 1024;

/** What is told about each change before it is on the disk and after it is. */
export type InboxObserver = (moment: 'before' | 'after', change: string) => void;

/**
 * The worker's memory across crashes: its session, and one record per slot. Each change is on the disk when the method
 * that makes it returns. One process owns it; whatever it cannot read it refuses and leaves alone.
 */
export class Inbox {
  /** Changes of one slot happen one after the other. */
  readonly #turns = new Map<number, Promise<unknown>>();

  private constructor(
    private readonly directory: DurableDirectory,
    private readonly lock: FileHandle,
    private readonly records: Map<number, InboxRecord>,
    private current: SessionRecord | null,
    private readonly observe: InboxObserver,
  ) {}

  /** @throws ValiseError inbox_in_use, or inbox_damaged with the file and the broken rule */
  static async open(path: string, observe: InboxObserver = () => undefined): Promise<Inbox> {
    const directory = await DurableDirectory.open(path);
    let lock: FileHandle | null = null;
    try {
      lock = await lockFile(directory.pathOf(LOCK));
      if (!lock) throw new ValiseError('inbox_in_use');
      const records = new Map<number, InboxRecord>();
      let session: SessionRecord | null = null;
      for (const file of (await directory.names()).sort()) {
        const slot = SLOT.exec(file)?.[1];
        if (file === LOCK) continue;
        else if (file.endsWith(UNFINISHED_SUFFIX)) await directory.remove(file);
        else if (file === SESSION) session = await readWith(readSession, directory, file);
        else if (slot !== undefined) records.set(Number(slot), await readWith(readRecord, directory, file));
        else throw new ValiseError('inbox_damaged', { rule: 'unknown_file' });
      }
      return new Inbox(directory, lock, records, session, observe);
    } catch (error) {
      await Promise.all([directory.close(), lock?.close()]);
      throw error;
    }
  }

  get session(): SessionRecord | null {
    return this.current;
  }

  /** The slots that have a record, lowest first. */
  get occupiedSlots(): readonly number[] {
    return [...this.records.keys()].sort((a, b) => a - b);
  }

  record(slot: number): InboxRecord | null {
    return this.records.get(slot) ?? null;
  }

  async saveSession(session: SessionRecord): Promise<void> {
    await this.#write(SESSION, writeSession(session), 'session');
    this.current = session;
  }

  /** An empty slot begins to claim. */
  begin(slot: number, claim: Claim): Promise<void> {
    return this.#inTurn(slot, async () => {
      if (this.records.has(slot)) throw new ValiseError('internal_error', { event: 'begin', slot });
      await this.#save(slot, { state: 'claiming', claim });
    });
  }

  /**
   * @throws ValiseError internal_error when the event cannot happen in the slot's state, and the system's error when the
   * disk does not take it; nothing is changed
   */
  advance(slot: number, event: InboxEvent): Promise<InboxRecord> {
    return this.#inTurn(slot, async () => {
      const next = this.#successor(slot, event);
      if (next !== this.records.get(slot)) await this.#save(slot, next);
      return next;
    });
  }

  /** As `advance`, but in memory alone: the disk keeps what it had. */
  remember(slot: number, event: InboxEvent): Promise<InboxRecord> {
    return this.#inTurn(slot, () => {
      const next = this.#successor(slot, event);
      this.records.set(slot, next);
      return Promise.resolve(next);
    });
  }

  /** The slot is empty. Only what control has acknowledged, or what never became an attempt, may be forgotten. */
  forget(slot: number): Promise<void> {
    return this.#inTurn(slot, async () => {
      this.observe('before', 'forgotten');
      await this.directory.remove(fileOf(slot));
      this.records.delete(slot);
      this.observe('after', 'forgotten');
    });
  }

  /** Lets another process own the inbox. */
  async close(): Promise<void> {
    await Promise.all([this.lock.close(), this.directory.close()]);
  }

  #successor(slot: number, event: InboxEvent): InboxRecord {
    const record = this.records.get(slot);
    if (!record) throw new ValiseError('internal_error', { event: event.kind, slot });
    return advance(record, event);
  }

  #inTurn<T>(slot: number, change: () => Promise<T>): Promise<T> {
    const turn = (this.#turns.get(slot) ?? Promise.resolve()).then(change);
    this.#turns.set(
      slot,
      turn.catch(() => undefined),
    );
    return turn;
  }

  async #save(slot: number, record: InboxRecord): Promise<void> {
    await this.#write(fileOf(slot), writeRecord(record), record.state);
    this.records.set(slot, record);
  }

  async #write(file: string, bytes: Buffer, change: string): Promise<void> {
    this.observe('before', change);
    await this.directory.write(file, bytes);
    this.observe('after', change);
  }
}

const fileOf = (slot: number): string => `slot-${slot}.json`;

async function readWith<T>(
  read: (bytes: Uint8Array) => T,
  directory: DurableDirectory,
  file: string,
): Promise<T> {
  const path = directory.pathOf(file);
  const { size } = await stat(path);
  if (size > MAX_FILE_BYTES) throw new ValiseError('inbox_damaged', { file, rule: 'max_bytes' });
  const bytes = await readFile(path);
  try {
    return read(bytes);
  } catch (error) {
    const facts = error instanceof ValiseError ? error.facts : {};
    throw new ValiseError('inbox_damaged', { ...facts, file });
  }
}
