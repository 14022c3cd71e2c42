import { spawn, spawnSync, type ChildProcessByStdio, type StdioOptions } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';

/** A killer that hears nothing for so long leaves, and another is started when there is something to end again. */
const IDLE_MS = 10_000;
/**
 * One that takes longer for its act is not to be had. Where tasks leave it little of the processors it may take many times
 * what starting it takes, 0.1 s of one; whoever ended it for that would begin anew each time.
 */
const ANSWER_MS = 600_000;

/**
 * For each uid it reads, takes that as its effective one, kills all that this uid may kill, and answers. What it must not
 * be allowed to do is checked at its start and before each act: with a uid of root's or another capability it would end the
 * whole machine.
 */
const SCRIPT = `
const { readFileSync, readSync, writeSync } = require('fs');
const own = Number(process.argv[1]);
const order = Buffer.alloc(16);
function assertOnly(uid) {
  const status = readFileSync('/proc/self/status', 'latin1');
  const ids = ['\\nUid:', own, uid, own, ''].join('\\t');
  const isOnly = own > 0 && /^CapEff:\\t0+80$/m.test(status) && status.includes(ids);
  if (!isOnly) process.exit(1);
}
assertOnly(own);
for (let length; (length = readSync(0, order)) > 0;) {
  const uid = Number(order.toString('latin1', 0, length));
  if (!(uid > own)) process.exit(1);
  process.seteuid(uid);
  assertOnly(uid);
  try {
    process.kill(-1, 'SIGKILL');
  } catch (error) {
    // In a container the worker may be the first process, which the kernel leaves out, and nobody else there.
    if (error.code !== 'ESRCH') process.exit(1);
  }
  process.seteuid(own);
  writeSync(1, '+');
}
`;

/** Nothing runs under this uid but a worker's killer; no slot and no account has it, and no other worker's killer. */
export const killerUidOf = (baseUid: number): number => baseUid - 1;

/** The only capability of a killer: to take a uid. In its status it is the bit 80. */
const SETUID = '-all,+setuid';
/** What a killer executes, wherever it lies: the worker's own program, as the fourth of the descriptors it is given. */
const PROGRAM = '/proc/self/fd/3';

export const openProgram = (): number => openSync('/proc/self/exe', 'r');

/**
 * The arguments of setpriv with which it becomes a killer of `ownUid`. It is that in every respect while it is executed:
 * some kernels (6.1) give up an effective uid that is not the real one, where nobody may gain privileges by exec.
 */
export const killerOf = (ownUid: number): readonly string[] => {
  const script = [PROGRAM, '-e', SCRIPT, String(ownUid)];
  const ids = ['--reuid', String(ownUid), '--clear-groups'];
  return [...ids, '--inh-caps', SETUID, '--ambient-caps', SETUID, '--', ...script];
};

/** Whether there can be a killer here: one is started and leaves, for it finds no order. */
export function canHaveKiller(ownUid: number): boolean {
  const program = openProgram();
  try {
    const stdio: StdioOptions = ['ignore', 'ignore', 'ignore', program];
    return spawnSync('setpriv', killerOf(ownUid), { env: {}, cwd: '/', stdio }).status === 0;
  } finally {
    closeSync(program);
  }
}

/**
 * Ends everything of a slot in one act of the kernel, which no fork can slip through (kill(2) with pid -1, under the lock
 * that fork takes): processes that we list one by one may fork faster than we read. That takes a process of its own, which
 * the slot cannot kill, for its real and saved uids are others; it is kept for as long as there is much to end.
 */
export class SlotKiller {
  #turn: Promise<unknown> = Promise.resolve();
  #process: Killer | null = null;
  #idle: NodeJS.Timeout | undefined;
  #hasFailed = false;

  /** @param onFailure is told of the first order in a row that was not carried out */
  constructor(
    private readonly ownUid: number,
    private readonly idleMs = IDLE_MS,
    private readonly onFailure: () => void = () => undefined,
  ) {}

  /** Every process of the slot's uid has been sent SIGKILL: resolves with whether that is certain. */
  kill(uid: number): Promise<boolean> {
    const killed = this.#turn.then(() => this.#order(uid));
    this.#turn = killed.then((isDone) => {
      if (!isDone && !this.#hasFailed) this.onFailure();
      this.#hasFailed = !isDone;
    });
    return killed;
  }

  /** Its process is gone; the next order starts another. */
  close(): void {
    clearTimeout(this.#idle);
    this.#process?.kill('SIGKILL');
    this.#process = null;
  }

  async #order(uid: number): Promise<boolean> {
    // No slot has it. The killer would not obey either.
    if (!(uid > this.ownUid)) return false;
    clearTimeout(this.#idle);
    try {
      this.#process ??= started(this.ownUid);
      const isDone = await obeys(this.#process, uid);
      if (!isDone) this.close();
      return isDone;
    } catch {
      // No process or memory to be had at the moment.
      return false;
    } finally {
      this.#idle = setTimeout(() => {
        this.close();
      }, this.idleMs).unref();
    }
  }
}

type Killer = ChildProcessByStdio<Writable, Readable, null>;

/** It is not what keeps the worker alive, and hears nothing of the signals of the worker's terminal. */
function started(ownUid: number): Killer {
  const program = openProgram();
  const killer = spawnedWith(program, ownUid);
  // The end of its output tells already; without listeners they would end the worker.
  for (const emitter of [killer, killer.stdin, killer.stdout]) emitter.on('error', () => undefined);
  for (const handle of [killer, killer.stdin as Socket, killer.stdout as Socket]) handle.unref();
  return killer;
}

function spawnedWith(program: number, ownUid: number): Killer {
  try {
    const stdio: StdioOptions = ['pipe', 'pipe', 'ignore', program];
    return spawn('setpriv', killerOf(ownUid), { env: {}, cwd: '/', detached: true, stdio }) as Killer;
  } finally {
    closeSync(program);
  }
}

function obeys({ stdin, stdout }: Killer, uid: number): Promise<boolean> {
  return new Promise((resolve) => {
    const answered = (): void => {
      settle(true);
    };
    const failed = (): void => {
      settle(false);
    };
    const settle = (isDone: boolean): void => {
      clearTimeout(deadline);
      stdout.off('data', answered).off('close', failed);
      resolve(isDone);
    };
    const deadline = setTimeout(failed, ANSWER_MS);
    stdout.on('data', answered).on('close', failed);
    if (stdout.destroyed) failed();
    else stdin.write(String(uid));
  });
}
