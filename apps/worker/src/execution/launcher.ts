import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { ValiseError, type ReasonCode } from '@valise/contracts/failure';
import { WorkerConfig } from '../config/worker-config.js';
import type { ProcessIdentity } from '../inbox/inbox-record.js';
import { AttemptRefused } from './halt.js';
import { LAUNCH_SCRIPT, LAUNCH_SHELL } from './launch-shell.js';
import { closeWriters, OutputSockets, type OutputChannels } from './output-channels.js';
import { identify } from './process-table.js';
import { killerUidOf } from './slot-killer.js';
import { UNPRIVILEGED, unprivilegedAs } from './unprivileged.js';

export interface LaunchPlan {
  readonly slot: number;
  readonly argv: readonly string[];
  readonly workingDirectory: string;
  /** As `writeHandover` makes it; zeroed once the child has it. */
  readonly handover: Buffer;
  /** As `openChannels` makes them; the writing ends are the task's alone afterwards. */
  readonly channels: OutputChannels;
}

export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Launched {
  readonly identity: ProcessIdentity;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /**
   * Resolves once the command is executing; until then nobody else reads its output.
   * @throws AttemptRefused when it certainly never will
   */
  readonly executing: Promise<void>;
  readonly ended: Promise<ProcessEnd>;
}

/** Starts tasks: own session, own uid where the worker is root, an environment that holds nothing of ours. */
@Injectable()
export class Launcher implements OnModuleDestroy {
  readonly #wrapper: readonly string[];
  readonly #baseUid: number | null;
  readonly #sockets: OutputSockets;

  /** @throws ValiseError configuration_invalid when the worker is root and cannot give slots a uid */
  constructor({ isolation, stateDirectory }: WorkerConfig) {
    this.#sockets = new OutputSockets(join(stateDirectory, 'outputs'));
    this.#baseUid = isolation.kind === 'uid_per_slot' ? isolation.baseUid : null;
    // Nothing that a slot has left has the killer's uid, so nothing of it can be in the way.
    const [setpriv = '', ...flags] =
      this.#baseUid === null ? UNPRIVILEGED : unprivilegedAs(killerUidOf(this.#baseUid));
    const canDrop = spawnSync(setpriv, [...flags, '/bin/true'], { stdio: 'ignore' }).status === 0;
    if (this.#baseUid !== null && !canDrop) {
      throw new ValiseError('configuration_invalid', { rule: 'setpriv_gives_slots_their_uids' });
    }
    this.#wrapper = canDrop ? UNPRIVILEGED : [];
  }

  /** What a launch needs that has to be waited for. @throws when it is not to be had at the moment */
  openChannels(): Promise<OutputChannels> {
    return this.#sockets.open();
  }

  /**
   * Spawns at once; nothing is awaited before the child exists.
   * @throws AttemptRefused when it does not come to exist
   */
  launch({ slot, argv, workingDirectory, handover, channels }: LaunchPlan): Launched {
    const shell = [LAUNCH_SHELL, '-c', LAUNCH_SCRIPT, 'sh', workingDirectory, ...argv];
    const [file = LAUNCH_SHELL, ...args] = [...this.#wrapperOf(slot), ...shell];
    const child = spawned(file, args, handover, channels);
    const [, , , environment, marks] = child.stdio as unknown as Streams;
    const identity = identityOf(child);
    if (!identity) {
      // It waits for its environment, so it has executed nothing.
      child.kill('SIGKILL');
      for (const pipe of [environment, marks]) pipe.on('error', () => undefined).destroy();
      throw new AttemptRefused('out_of_memory');
    }
    feed(environment, handover);
    const [stdout, stderr] = [channels.stdout.output, channels.stderr.output];
    const ended = endOf(child);
    return { identity, stdout, stderr, ended, executing: assertExecuted(marks, stderr, ended) };
  }

  onModuleDestroy(): Promise<void> {
    return this.#sockets.close();
  }

  #wrapperOf(slot: number): readonly string[] {
    return this.#baseUid === null ? this.#wrapper : unprivilegedAs(this.#baseUid + slot);
  }
}

type Streams = [null, null, null, Writable, Readable];

function spawned(
  file: string,
  args: readonly string[],
  handover: Buffer,
  channels: OutputChannels,
): ChildProcess {
  const { stdout, stderr } = channels;
  try {
    const child = spawn(file, args, {
      env: {},
      cwd: '/',
      detached: true,
      stdio: ['ignore', stdout.writer, stderr.writer, 'pipe', 'pipe'],
    });
    // Told by the missing pid already; without a listener it would end the worker.
    child.on('error', () => undefined);
    return child;
  } catch (error) {
    handover.fill(0);
    throw new AttemptRefused(reasonOfErrno((error as NodeJS.ErrnoException).code));
  } finally {
    closeWriters(channels);
  }
}

/** Null where there is no child, or the system cannot say which one it is. */
function identityOf({ pid }: ChildProcess): ProcessIdentity | null {
  try {
    return pid === undefined ? null : identify(pid);
  } catch {
    return null;
  }
}

function reasonOfErrno(errno: string | undefined): ReasonCode | null {
  if (errno === 'E2BIG') return 'argument_list_too_long';
  return errno === 'ENOMEM' || errno === 'EAGAIN' ? 'out_of_memory' : null;
}

function feed(pipe: Writable, handover: Buffer): void {
  const zero = (): void => void handover.fill(0);
  pipe.on('error', zero).on('close', zero);
  pipe.end(handover, zero);
}

async function endOf(child: ChildProcess): Promise<ProcessEnd> {
  const [exitCode, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return { exitCode, signal };
}

/** Reads the shell's marks to their end, which is the exec or the death of the shell. */
async function assertExecuted(marks: Readable, stderr: Readable, ended: Promise<ProcessEnd>): Promise<void> {
  let text = '';
  for await (const chunk of marks) text += (chunk as Buffer).toString('latin1');
  if (text === 'r') return;
  // A shell that was killed was stopped by us; the caller knows why.
  const { signal } = await ended;
  if (signal !== null) throw new AttemptRefused('killed_by_signal');
  throw new AttemptRefused(await reasonOfMarks(text, stderr));
}

function reasonOfMarks(text: string, stderr: Readable): Promise<ReasonCode> | ReasonCode | null {
  switch (text) {
    case 'd':
    case 'r127':
      return 'command_not_found';
    case 'r126':
      return reasonOfShell(stderr);
    default:
      return null;
  }
}

/** The command never ran, so what stands on its standard error is the shell's own sentence about exec. */
async function reasonOfShell(stderr: Readable): Promise<ReasonCode> {
  let sentence = '';
  for await (const chunk of stderr) sentence += (chunk as Buffer).toString('latin1');
  if (sentence.includes('Argument list too long')) return 'argument_list_too_long';
  return sentence.includes('Cannot allocate memory') ? 'out_of_memory' : 'command_not_executable';
}
