import type { Logger } from 'pino';
import { ValiseError } from '@valise/contracts/failure';
import { type FileSet, FILE_SETS, type TransportFacts } from './transport-facts.js';

/** Something that can take new files. */
export interface Refreshable {
  /** Answers whether there was something new. @throws ValiseError; then nothing has changed */
  refresh(when: { readonly always: boolean }): Promise<boolean>;
}

/**
 * Takes new files when they have changed on the disk, and when told to; each set by itself, so that a bad one keeps no
 * other from being renewed. The same clock ends what has expired since it last ticked.
 *
 * It looks again and again instead of being notified: notifications come from the inode of one directory, while a
 * Kubernetes volume turns a link, a renewal replaces files one by one, and network file systems notify nobody.
 */
export class ReloadTimer {
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> | null = null;
  /** What was last said of a set, so that a lasting fault is said once. */
  private readonly said = new Map<FileSet, string>();

  constructor(
    private readonly sets: Partial<Readonly<Record<FileSet, Refreshable>>>,
    private readonly facts: TransportFacts,
    private readonly log: Logger,
  ) {}

  /** Ticks every `intervalMs`; `tick` is not kept waiting by files that cannot be read. */
  start(intervalMs: number, tick: () => void): void {
    this.timer = setInterval(() => {
      tick();
      if (!this.looking) void this.look({ always: false });
    }, intervalMs);
  }

  /** Does not wait for files that are being read: they might never be. */
  stop(): void {
    clearInterval(this.timer);
  }

  /** Reads every set now, changed or not, and says how that went. */
  async reload(): Promise<void> {
    while (this.looking) await this.looking;
    this.said.clear();
    await this.look({ always: true });
  }

  private look(when: { readonly always: boolean }): Promise<void> {
    this.looking = this.refreshAll(when).finally(() => {
      this.looking = null;
    });
    return this.looking;
  }

  private async refreshAll(when: { readonly always: boolean }): Promise<void> {
    for (const set of FILE_SETS) {
      const files = this.sets[set];
      if (files) await this.refresh(set, files, when);
    }
  }

  private async refresh(set: FileSet, files: Refreshable, when: { readonly always: boolean }): Promise<void> {
    const facts = this.facts.reloads[set];
    try {
      const isNew = await files.refresh(when);
      facts.failing = false;
      this.said.delete(set);
      if (!isNew) return;
      facts.succeeded += 1;
      this.log.info({ event: 'reloaded', set }, 'new files are in force');
    } catch (error) {
      facts.failed += 1;
      facts.failing = true;
      const { setting, rule } = error instanceof ValiseError ? error.facts : {};
      const said = `${String(setting)} ${String(rule)}`;
      if (this.said.get(set) === said) return;
      this.said.set(set, said);
      this.log.error(
        { event: 'reload_failed', set, setting, rule, err: error },
        'the files on the disk are not good; the last good ones stay in force',
      );
    }
  }
}
