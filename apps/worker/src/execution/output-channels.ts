import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { open, readdir, rm, type FileHandle } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { makePrivateDirectory } from '../inbox/durable-directory.js';
import { TaskOutput } from './task-output.js';

const OPEN_MS = 5000;
const NAME_BYTES = 16;

/** One stream of a task that is yet to be started: the end it will write to, and what comes out of it. */
export interface OutputChannel {
  readonly writer: Socket;
  readonly output: TaskOutput;
}

export interface OutputChannels {
  readonly stdout: OutputChannel;
  readonly stderr: OutputChannel;
}

/** The task has its own copies of the writing ends, or there is no task. */
export function closeWriters({ stdout, stderr }: OutputChannels): void {
  for (const { writer } of [stdout, stderr]) writer.destroy();
}

/** Nobody writes and nobody reads; what was not read is wiped. */
export function discardChannels({ stdout, stderr }: OutputChannels): void {
  for (const channel of [stdout, stderr]) discard(channel);
}

function discard({ writer, output }: OutputChannel): void {
  writer.destroy();
  output.destroy();
}

/** A socket's path may have 107 bytes; through a descriptor every directory has a short one. */
const pathIn = ({ fd }: FileHandle, name: string): string => `/proc/self/fd/${fd}/${name}`;

/**
 * Makes the channels between tasks and the worker. They are what `spawn` itself would make (pairs of connected sockets),
 * but with a reading end that is read into memory of ours: only an end that connects can be. Each pair has an address of
 * its own, that nobody can know and that is gone once the two have met: whoever came late would else be taken for the next.
 */
export class OutputSockets {
  #opened: Promise<FileHandle> | null = null;

  /** In `directory` nobody else may enter. */
  constructor(private readonly directory: string) {}

  /** @throws when the system has no more descriptors, or the directory cannot be written */
  async open(): Promise<OutputChannels> {
    const stdout = await this.#connect();
    try {
      return { stdout, stderr: await this.#connect() };
    } catch (error) {
      discard(stdout);
      throw error;
    }
  }

  /** No more channels are made; those that were go on. */
  async close(): Promise<void> {
    await (await this.#opened)?.close();
  }

  async #connect(): Promise<OutputChannel> {
    const path = pathIn(await (this.#opened ??= this.#enter()), randomBytes(NAME_BYTES).toString('hex'));
    const deadline = { signal: AbortSignal.timeout(OPEN_MS) };
    const server = createServer({ pauseOnConnect: true });
    let writer: Socket | null = null;
    let isOver = false;
    // Whoever waits hears of it by the deadline; later nobody need.
    server.on('error', () => undefined);
    server.on('connection', (socket) => {
      if (writer || isOver) socket.destroy();
      else writer = socket;
    });
    let output: TaskOutput | null = null;
    try {
      await once(server.listen(path), 'listening', deadline);
      output = new TaskOutput(path);
      const accepted = once(server, 'connection', deadline) as Promise<[Socket]>;
      const [[socket]] = await Promise.all([accepted, once(output, 'connect', deadline)]);
      return { writer: socket, output };
    } catch (error) {
      output?.destroy();
      (writer as Socket | null)?.destroy();
      throw error;
    } finally {
      isOver = true;
      server.close();
    }
  }

  /** The directory, empty: what a worker left that was killed between two lines is nobody's address any more. */
  async #enter(): Promise<FileHandle> {
    try {
      await makePrivateDirectory(this.directory);
      for (const name of await readdir(this.directory))
        await rm(join(this.directory, name), { recursive: true, force: true });
      const { O_RDONLY, O_DIRECTORY } = constants;
      return await open(this.directory, O_RDONLY | O_DIRECTORY);
    } catch (error) {
      this.#opened = null;
      throw error;
    }
  }
}
