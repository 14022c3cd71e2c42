import { stat } from 'node:fs/promises';
import { Inject, Injectable } from '@nestjs/common';
import { ValiseError } from '@valise/contracts/failure';
import { WorkerConfig } from '../config/worker-config.js';
import { EventLog } from '../events/event-log.js';
import { IngressClient } from './ingress-client.js';
import { readIdentity, WORKER_IDENTITY, type WorkerIdentity } from './worker-identity.js';

const INTERVAL_MS = 5000;

/**
 * Presents the certificate that lies on the disk: looked at again and again, because what notifies of a change notices
 * neither a link that is turned nor a network file system. One that does not fit leaves the old one in place, and is
 * read again until it does.
 */
@Injectable()
export class IdentityRenewal {
  #timer: NodeJS.Timeout | undefined;
  /** The files that hold a whole identity, this worker's or another's, when they were last read; null before that. */
  #seen: string | null = null;
  #isReading = false;
  /** Why there was none, as the log says it already. */
  #said: string | null = null;

  constructor(
    private readonly config: WorkerConfig,
    private readonly client: IngressClient,
    @Inject(WORKER_IDENTITY) private readonly identity: WorkerIdentity,
    private readonly log: EventLog,
  ) {}

  async start(intervalMs = INTERVAL_MS): Promise<void> {
    this.#seen = await this.#look();
    this.#timer = setInterval(() => void this.#renewIfNew(), intervalMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** New connections present what is on the disk now, if it is a whole identity of this worker. */
  async renew(): Promise<void> {
    this.#said = null;
    await this.#read(await this.#look());
  }

  async #renewIfNew(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const now = await this.#look();
    if (now !== this.#seen) await this.#read(now);
    this.#isReading = false;
  }

  async #read(files: string): Promise<void> {
    try {
      const renewed = await readIdentity(this.config);
      this.#seen = files;
      this.#said = null;
      if (renewed.workerId !== this.identity.workerId) {
        this.log.warn('identity_of_another_worker');
        return;
      }
      this.client.present(renewed);
      this.log.info('identity_renewed');
    } catch (error) {
      const said = error instanceof ValiseError ? JSON.stringify(error.facts) : String(error);
      if (said === this.#said) return;
      this.#said = said;
      this.log.failure('identity_not_renewed', error);
    }
  }

  /** Which files these are, through every link; a change time cannot be set back. */
  async #look(): Promise<string> {
    const { certificateFile, keyFile, authorityFile } = this.config;
    const looks = [certificateFile, keyFile, authorityFile].map((path) =>
      stat(path, { bigint: true }).then(
        ({ dev, ino, size, mtimeNs, ctimeNs }) => [dev, ino, size, mtimeNs, ctimeNs].join(':'),
        () => 'none',
      ),
    );
    return (await Promise.all(looks)).join();
  }
}
