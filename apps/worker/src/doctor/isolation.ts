import { spawn } from 'node:child_process';
import type { WorkerConfig } from '../config/worker-config.js';
import { canHaveKiller, killerUidOf } from '../execution/slot-killer.js';
import { assertUnnamed, LOCK_DIRECTORY } from '../execution/slot-uids.js';
import { unprivilegedAs } from '../execution/unprivileged.js';
import { brokenRule, ok, problem, warning, type Finding } from './finding.js';
import { examinePrivateDirectory } from './private-directory.js';

const SUBJECT = 'isolation';
const SHARED =
  'a task may read and end the worker and what another task left, and what hides from the worker outlives its attempt';

/** What keeps tasks from each other and from the worker. */
export async function examineIsolation({ isolation, slots }: WorkerConfig): Promise<Finding[]> {
  if (isolation.kind === 'shared_uid') return [sharedUid(slots)];
  const [first, last] = [isolation.baseUid, isolation.baseUid + slots - 1];
  const uids = Array.from({ length: slots }, (_, slot) => first + slot);
  const range = first === last ? `uid ${first}` : `uids ${first} to ${last}`;
  const findings = [ok(SUBJECT, `runs as root: ${tasks(slots)}, each under a uid of its own (${range})`)];
  try {
    await assertUnnamed([killerUidOf(first), ...uids]);
    findings.push(ok('slot uids', 'are nobody’s account'));
  } catch (error) {
    findings.push(brokenRule('slot uids', error));
  }
  findings.push(examinePrivateDirectory('slot locks', LOCK_DIRECTORY));
  return [...findings, ...(await examineCapabilities(killerUidOf(first)))];
}

function sharedUid(slots: number): Finding {
  const why = slots === 1 ? 'one task at a time' : `${tasks(slots)}, by VALISE_UNSAFE_SHARED_UID`;
  return warning(SUBJECT, `does not run as root: ${why}, all under the worker’s own uid; ${SHARED}`);
}

const tasks = (slots: number): string => (slots === 1 ? 'one task at a time' : `${slots} tasks at a time`);

/**
 * Root in a container may lack what root has elsewhere: a process is started as a task is, under a uid that neither a task
 * nor what a task has left can have, and told to end.
 */
async function examineCapabilities(uid: number): Promise<Finding[]> {
  const [setpriv = '', ...flags] = unprivilegedAs(uid);
  const echo = spawn(setpriv, [...flags, '/bin/cat'], {
    env: {},
    cwd: '/',
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  // What cannot be started echoes nothing, and what cannot be signalled is found by the answer.
  for (const emitter of [echo, echo.stdin]) emitter.on('error', () => undefined);
  echo.stdin.write('.');
  const echoed = await echo.stdout[Symbol.asyncIterator]().next();
  const mayEnd = echo.kill('SIGTERM');
  for (const stream of [echo.stdin, echo.stdout]) stream.destroy();
  if (echoed.done === true) {
    const needed = 'SETUID and SETGID are needed, and setpriv';
    return [problem('slot start', `no process can be started under a slot’s uid: ${needed}`)];
  }
  if (!canHaveKiller(uid)) {
    return [problem('slot end', 'what ends all of a slot cannot be had: no task starts')];
  }
  return [
    ok('slot start', 'a process can be started under a slot’s uid, and dies with the worker'),
    mayEnd
      ? ok('slot end', 'a process under a slot’s uid can be told to end')
      : problem('slot end', 'no task can be told to end before it is killed: KILL is needed'),
  ];
}
