import { once } from 'node:events';
import { constants } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { makePrivateDirectory } from '../inbox/durable-file.js';
import { TaskOutput } from './task-output.js';

const OPEN_MS = 5000;
const NAME = 'task-output';

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
export function discardChannels(channels: OutputChannels): void {
  closeWriters(channels);
  for (const { output } of [channels.stdout, channels.stderr]) output.destroy();
}

interface Listening {
  readonly server: Server;
  /** Stays open: the socket's path goes through it. */
  readonly directory: FileHandle;
}

/** A socket's path may have 107 bytes; through a descriptor every directory has a short one. */
const pathIn = ({ fd }: FileHandle): string => `/proc/self/fd/${fd}/${NAME}`;

/**
 * Makes the channels between tasks and the worker. They are what `spawn` itself would make (pairs of connected sockets),
 * but with a reading end that is read into memory of ours: only an end that connects can be. The name is in a directory
 * that nobody else may enter.
 */
export class OutputSockets {
  #listening: Promise<Listening> | null = null;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly directory: string) {}

  /** @throws when the system has no more descriptors, or the directory cannot be written */
  open(): Promise<OutputChannels> {
    // One pair at a time: who is accepted is who has just connected.
    const opened = this.#turn.then(async () => {
      const stdout = await this.#connect();
      try {
        return { stdout, stderr: await this.#connect() };
      } catch (error) {
        discardChannels({ stdout, stderr: stdout });
        throw error;
      }
    });
    this.#turn = opened.catch(() => undefined);
    return opened;
  }

  /** No more channels are made; those that were go on. */
  async close(): Promise<void> {
    const listening = await this.#listening;
    listening?.server.close();
    await listening?.directory.close();
  }

  async #connect(): Promise<OutputChannel> {
    const { server, directory } = await (this.#listening ??= this.#listen());
    const deadline = { signal: AbortSignal.timeout(OPEN_MS) };
    const output = new TaskOutput(pathIn(directory));
    try {
      const accepted = once(server, 'connection', deadline) as Promise<[Socket]>;
      const [[writer]] = await Promise.all([accepted, once(output, 'connect', deadline)]);
      return { writer, output };
    } catch (error) {
      output.destroy();
      throw error;
    }
  }

  async #listen(): Promise<Listening> {
    try {
      await makePrivateDirectory(this.directory);
      await rm(join(this.directory, NAME), { force: true });
      const { O_RDONLY, O_DIRECTORY } = constants;
      const directory = await open(this.directory, O_RDONLY | O_DIRECTORY);
      const server = createServer({ pauseOnConnect: true }).listen(pathIn(directory)).unref();
      await once(server, 'listening');
      return { server, directory };
    } catch (error) {
      this.#listening = null;
      throw error;
    }
  }
}
