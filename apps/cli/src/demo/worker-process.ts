import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../refusal.js';
import { surroundings, type ControlProcess } from './control-process.js';
import type { Pki } from './pki.js';
import { usersOf } from './process-tree.js';
import { Program } from './program.js';
import type { ProcessMark } from './process-mark.js';
import type { Workplace } from './workplace.js';

const MAIN = join(__dirname, '../../../../../worker/apps/worker/src/main.js');

/** User ids that neither Debian's nor systemd's ranges give to anybody: every second, for the one below is the killer's. */
const FREE_UIDS = { first: 60_579, count: 302 } as const;

/** By what the processes of the worker's one slot will be known. @throws Refusal */
export function chooseTaskMark(projectId: string): ProcessMark {
  return process.getuid?.() === 0
    ? { kind: 'uid', uid: unusedUid() }
    : { kind: 'environment', entry: `QL3_PROJECT_ID=${projectId}` };
}

export function startWorker(
  workplace: Workplace,
  pki: Pki,
  control: ControlProcess,
  mark: ProcessMark,
): Program {
  return Program.start({
    name: 'worker',
    file: MAIN,
    environment: {
      ...surroundings(workplace),
      VALISE_CONTROL_URL: `https://127.0.0.1:${control.ports.ingress}`,
      VALISE_TLS_CERTIFICATE_FILE: pki.worker.certificateFile,
      VALISE_TLS_KEY_FILE: pki.worker.keyFile,
      VALISE_TLS_CA_FILE: pki.caFile,
      VALISE_STATE_DIRECTORY: workplace.workerState,
      ...(mark.kind === 'uid' && { VALISE_SLOT_UID_BASE: String(mark.uid) }),
    },
    workingDirectory: workplace.temporary,
    logFile: join(workplace.logs, 'worker.log'),
    drainsFirst: true,
  });
}

/**
 * A uid that no process has: a worker ends everything of its slot's uid, so two demos must not share one.
 * @throws Refusal
 */
function unusedUid(): number {
  const used = new Set(
    readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? usersOf(Number(name)) : [])),
  );
  for (let step = 0; step < FREE_UIDS.count; step += 1) {
    const uid = FREE_UIDS.first + 2 * ((process.pid + step) % FREE_UIDS.count);
    if (!used.has(uid)) return uid;
  }
  throw new Refusal('Every user id that a demo may give its task is in use.');
}
