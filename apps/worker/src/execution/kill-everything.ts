import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A slot's uid, and the one uid beside the slots' that nothing ever runs under but the act of killing. */
export interface SlotUid {
  readonly uid: number;
  readonly killerUid: number;
}

/**
 * Takes the slot's uid as its effective one and kills all that this uid may kill. What it must not be allowed to do is
 * checked when it cannot be undone any more: with a root's real uid or a capability it would end the whole machine.
 */
const SCRIPT = `
const [killerUid, uid] = process.argv.slice(1).map(Number);
process.seteuid(uid);
const status = require('fs').readFileSync('/proc/self/status', 'latin1');
const isOnlyTheSlots = /^CapEff:\\t0+$/m.test(status) && status.includes('\\nUid:\\t' + killerUid + '\\t' + uid + '\\t');
if (!isOnlyTheSlots || killerUid < 1 || uid < 1) process.exit(1);
process.kill(-1, 'SIGKILL');
`;

let turn: Promise<unknown> = Promise.resolve();

/**
 * Every process of the slot's uid has been sent SIGKILL in one act of the kernel, which no fork can slip through
 * (kill(2) with pid -1, under the lock that fork takes): resolves with whether that is certain. Processes that we list
 * one by one may fork faster than we read. The killer cannot be killed by the slot: its real and saved uids are others.
 */
export function killEverything(slot: SlotUid): Promise<boolean> {
  // Two killers share the real uid and would end each other.
  const killed = turn.then(() => runKiller(slot));
  turn = killed;
  return killed;
}

async function runKiller({ uid, killerUid }: SlotUid): Promise<boolean> {
  const ids = [String(killerUid), String(uid)];
  const killer = [process.execPath, '-e', SCRIPT, ...ids];
  try {
    const child = spawn('setpriv', ['--ruid', String(killerUid), '--clear-groups', '--', ...killer], {
      env: {},
      cwd: '/',
      stdio: 'ignore',
    });
    const [exitCode] = (await once(child, 'exit')) as [number | null];
    return exitCode === 0;
  } catch {
    // No process or memory to be had at the moment.
    return false;
  }
}
