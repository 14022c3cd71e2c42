import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Nothing runs under this uid but the act of killing; no slot and no account has it. */
export const KILLER_UID = 61_183;

/**
 * Takes the slot's uid as its effective one and kills all that this uid may kill. What it must not be allowed to do is
 * checked when it cannot be undone any more: with a root's real uid or a capability it would end the whole machine.
 */
const SCRIPT = `
const uid = Number(process.argv[1]);
process.seteuid(uid);
const status = require('fs').readFileSync('/proc/self/status', 'latin1');
const isOnlyTheSlots = /^CapEff:\\t0+$/m.test(status) && status.includes('\\nUid:\\t${KILLER_UID}\\t' + uid + '\\t');
if (!isOnlyTheSlots || uid < 1) process.exit(1);
try {
  process.kill(-1, 'SIGKILL');
} catch (error) {
  // In a container the worker may be the first process, which the kernel leaves out, and nobody else there.
  if (error.code !== 'ESRCH') process.exit(1);
}
`;

let turn: Promise<unknown> = Promise.resolve();

/**
 * Every process of the slot's uid has been sent SIGKILL in one act of the kernel, which no fork can slip through
 * (kill(2) with pid -1, under the lock that fork takes): resolves with whether that is certain. Processes that we list
 * one by one may fork faster than we read. The killer cannot be killed by the slot: its real and saved uids are others.
 */
export function killEverything(uid: number): Promise<boolean> {
  // Killers share their real uid: two at a time would end each other.
  const killed = turn.then(() => runKiller(uid));
  turn = killed;
  return killed;
}

/** The arguments of setpriv with which it becomes the killer of `uid`. */
export function killerOf(uid: number): readonly string[] {
  const script = [process.execPath, '-e', SCRIPT, String(uid)];
  return ['--ruid', String(KILLER_UID), '--clear-groups', '--', ...script];
}

async function runKiller(uid: number): Promise<boolean> {
  try {
    const child = spawn('setpriv', killerOf(uid), { env: {}, cwd: '/', stdio: 'ignore' });
    const [exitCode] = (await once(child, 'exit')) as [number | null];
    return exitCode === 0;
  } catch {
    // No process or memory to be had at the moment.
    return false;
  }
}
