import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import type { ProcessIdentity } from '../inbox/inbox-record.js';
import { offHeap } from '@valise/contracts/process';

/** By what the processes of one attempt are known: the slot's own uid, or their session and environment. */
export type ProcessOwner =
  | { readonly kind: 'uid'; readonly uid: number }
  | {
      readonly kind: 'attempt';
      readonly attemptId: string;
      readonly uid: number;
      readonly leader: ProcessIdentity | null;
    };

const MAX_ENVIRONMENT_BYTES = 256 * 1024;

/** The living processes of `owner`, oldest pid first. A zombie runs nothing and is not one of them. */
export function findProcesses(owner: ProcessOwner): number[] {
  const pids = readdirSync('/proc').filter((name) => /^[1-9][0-9]*$/.test(name));
  const found = pids.map(Number).filter((pid) => pid !== process.pid && belongs(pid, owner));
  return found.sort((a, b) => a - b);
}

/** The same, and whether none can have been missed: nothing was born on this machine while we looked. */
export function lookFor(owner: ProcessOwner): { readonly pids: number[]; readonly isComplete: boolean } {
  const before = births();
  const pids = findProcesses(owner);
  // The kernel counts a birth in the act that makes it visible. A count that has never moved is not the kernel's.
  return { pids, isComplete: before > BIRTHS_AT_START && births() === before };
}

/** The identity of a process that exists; a zombie still does. */
export function identify(pid: number): ProcessIdentity | null {
  const stat = readStat(pid);
  return stat && { pid, startTime: stat.startTime };
}

function belongs(pid: number, owner: ProcessOwner): boolean {
  const status = readHead(`/proc/${pid}/status`);
  if (status === null || /^State:\s+[ZX]/m.test(status)) return false;
  const uids = (/^Uid:\s+(.*)$/m.exec(status)?.[1] ?? '').split(/\s+/).map(Number);
  if (!uids.includes(owner.uid)) return false;
  if (owner.kind === 'uid') return true;
  const { leader, attemptId } = owner;
  const stat = readStat(pid);
  const isOfSession = stat !== null && leader !== null && stat.sessionId === leader.pid;
  return (isOfSession && stat.startTime >= leader.startTime) || environmentNames(pid, attemptId);
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
  readonly sessionId: number;
  readonly startTime: number;
}

function readStat(pid: number): Stat | null {
  const text = readHead(`/proc/${pid}/stat`);
  if (text === null) return null;
  // The second field is the command in parentheses and may hold anything; the rest follows its last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { sessionId: Number(fields[3]), startTime: Number(fields[19]) };
}

/** Processes and threads that the machine has ever started; 0 when it does not say. */
function births(): number {
  const [, count] = /^processes (\d+)$/m.exec(readHead('/proc/stat', MACHINE_BYTES) ?? '') ?? [];
  return Number(count ?? 0);
}

/** What we want to know of a process stands before what may be long, such as its groups. */
const HEAD_BYTES = 1024;
/** The machine's own has a line for each processor and a number for each interrupt first. */
const MACHINE_BYTES = 64 * 1024;
const head = Buffer.alloc(MACHINE_BYTES);

/** The beginning of a file of /proc, in one piece; null when there is no such process. */
function readHead(path: string, byteLength = HEAD_BYTES): string | null {
  let file: number | null = null;
  try {
    file = openSync(path, 'r');
    return head.toString('latin1', 0, readSync(file, head, 0, byteLength, 0));
  } catch {
    return null;
  } finally {
    if (file !== null) closeSync(file);
  }
}

const BIRTHS_AT_START = births();
