import { spawnSync } from 'node:child_process';
import type { WorkerConfig } from '../config/worker-config.js';
import { killerUidOf } from '../execution/slot-killer.js';
import { assertUnnamed } from '../execution/slot-uids.js';
import { unprivilegedAs } from '../execution/unprivileged.js';
import { brokenRule, ok, problem, warning, type Finding } from './finding.js';

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
  return [...findings, canTakeUid(first)];
}

function sharedUid(slots: number): Finding {
  const why = slots === 1 ? 'one task at a time' : `${tasks(slots)}, by VALISE_UNSAFE_SHARED_UID`;
  return warning(SUBJECT, `does not run as root: ${why}, all under the worker’s own uid; ${SHARED}`);
}

const tasks = (slots: number): string => (slots === 1 ? 'one task at a time' : `${slots} tasks at a time`);

/** Root in a container may lack what root has elsewhere. */
function canTakeUid(uid: number): Finding {
  const [setpriv = '', ...flags] = unprivilegedAs(uid);
  const { status } = spawnSync(setpriv, [...flags, '/bin/true'], {
    env: {},
    cwd: '/',
    stdio: 'ignore',
  });
  return status === 0
    ? ok('slot start', 'a process can be started under a slot’s uid, and dies with the worker')
    : problem(
        'slot start',
        'no process can be started under a slot’s uid: SETUID and SETGID are needed, and setpriv',
      );
}
