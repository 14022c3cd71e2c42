import { closeSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs';
import type { ProcessIdentity } from '../inbox/inbox-record.js';
import { offHeap } from '@valise/process';

/** By what the processes of one attempt are known: the slot's own uid, or their session and environment. */
export type ProcessOwner = {
  readonly uid: number;
  /** What was started as the first of them; it takes the slot's uid only after a moment. */
  readonly leader: ProcessIdentity | null;
} & ({ readonly kind: 'uid' } | { readonly kind: 'attempt'; readonly attemptId: string });

const MAX_ENVIRONMENT_BYTES = 256 * 1024;

/**
 * The living processes of `owner`, oldest pid first. A zombie runs nothing and is not one of them, unless it is one whose
 * first thread alone has ended.
 */
export function findProcesses(owner: ProcessOwner): number[] {
  const pids = readdirSync('/proc').filter((name) => /^[1-9][0-9]*$/.test(name));
  const found = pids.map(Number).filter((pid) => pid !== process.pid && belongs(pid, owner));
  return found.sort((a, b) => a - b);
}

/** The identity of a process that exists; a zombie still does. */
export function identify(pid: number): ProcessIdentity | null {
  const stat = readStat(pid);
  return stat && { pid, startTime: stat.startTime };
}

function belongs(pid: number, owner: ProcessOwner): boolean {
  if (isKnownKernelThread(pid)) return false;
  const status = readHead(`/proc/${pid}/status`);
  if (status === null || !isAlive(status) || isKernelThread(pid, status)) return false;
  const { leader } = owner;
  if (leader?.pid === pid && isChild(status) && readStat(pid)?.startTime === leader.startTime) return true;
  const uids = (/^Uid:\s+(.*)$/m.exec(status)?.[1] ?? '').split(/\s+/).map(Number);
  if (!uids.includes(owner.uid)) return false;
  if (owner.kind === 'uid') return true;
  const stat = readStat(pid);
  const isOfSession = stat !== null && leader !== null && stat.sessionId === leader.pid;
  return (isOfSession && stat.startTime >= leader.startTime) || environmentNames(pid, owner.attemptId);
}

/** A process whose first thread has ended looks like a zombie, and runs on in its others. */
function isAlive(status: string): boolean {
  return !/^State:\s+[ZX]/m.test(status) || Number(/^Threads:\s+(\d+)$/m.exec(status)?.[1]) > 1;
}

/** Whether it is ours. An identity alone may be a stranger's: both its numbers begin anew when the machine does. */
function isChild(status: string): boolean {
  return Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1]) === process.pid;
}

/** The kernel's own, by pid: they run no command, never will, and are most of what some machines list. */
const kernelThreads = new Map<number, Folder>();

/** Of a process in /proc; one that has the same pid later has another. */
interface Folder {
  readonly ino: number;
  readonly ctimeMs: number;
}

const folderOf = (pid: number): Folder | undefined => lstatSync(`/proc/${pid}`, { throwIfNoEntry: false });

function isKnownKernelThread(pid: number): boolean {
  const known = kernelThreads.get(pid);
  if (!known) return false;
  const folder = folderOf(pid);
  if (folder?.ino === known.ino && folder.ctimeMs === known.ctimeMs) return true;
  kernelThreads.delete(pid);
  return false;
}

const PF_KTHREAD = 0x0020_0000;

function isKernelThread(pid: number, status: string): boolean {
  if (status.includes('\nVmSize:')) return false;
  // Before we look what it is: whoever takes the pid in between is not remembered for it.
  const folder = folderOf(pid);
  if (!folder || ((readStat(pid)?.flags ?? 0) & PF_KTHREAD) === 0) return false;
  kernelThreads.set(pid, folder);
  return true;
}

/** Whether the process was started with the attempt's id. Its environment holds secrets: what is read is zeroed. */
function environmentNames(pid: number, attemptId: string): boolean {
  const environment = offHeap(MAX_ENVIRONMENT_BYTES);
  let file: number | null = null;
  try {
    file = openSync(`/proc/${pid}/environ`, 'r');
    let length = 0;
    for (let read = 1; read > 0 && length < environment.length; length += read) {
      read = readSync(file, environment, length, environment.length - length, null);
    }
    const mark = Buffer.from(`QL3_ATTEMPT_ID=${attemptId}\0`, 'utf8');
    const at = environment.subarray(0, length).indexOf(mark);
    return at === 0 || (at > 0 && environment[at - 1] === 0);
  } catch {
    // Gone, or not ours to read: then it is not one that we started.
    return false;
  } finally {
    environment.fill(0);
    if (file !== null) closeSync(file);
  }
}

interface Stat {
  readonly flags: number;
  readonly sessionId: number;
  readonly startTime: number;
}

function readStat(pid: number): Stat | null {
  const text = readHead(`/proc/${pid}/stat`);
  if (text === null) return null;
  // The second field is the command in parentheses and may hold anything; the rest follows its last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { flags: Number(fields[6]), sessionId: Number(fields[3]), startTime: Number(fields[19]) };
}

/** What we want to know stands before the end of this, however many groups a process has. */
const HEAD_BYTES = 64 * 1024;
const head = Buffer.alloc(HEAD_BYTES);

/** Why a process cannot be looked at: it has gone, or is not ours. Anything else says nothing about it. */
const NOT_OURS: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM']);

/**
 * The beginning of a file of /proc, in one piece; null when there is no such process.
 * @throws when the system cannot say, for it has no descriptors or memory left
 */
function readHead(path: string): string | null {
  let file: number | null = null;
  try {
    file = openSync(path, 'r');
    return head.toString('latin1', 0, readSync(file, head, 0, HEAD_BYTES, 0));
  } catch (error) {
    if (NOT_OURS.has((error as NodeJS.ErrnoException).code)) return null;
    throw error;
  } finally {
    if (file !== null) closeSync(file);
  }
}
