import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../refusal.js';
import { surroundings, type ControlProcess } from './control-process.js';
import type { Pki } from './pki.js';
import { Program } from './program.js';
import type { Workplace } from './workplace.js';

const MAIN = join(__dirname, '../../../../../worker/apps/worker/src/main.js');

/** User ids that neither Debian's nor systemd's ranges give to anybody. */
const FREE_UIDS = { first: 60_578, count: 606 } as const;

export function startWorker(workplace: Workplace, pki: Pki, control: ControlProcess): Program {
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
      ...(process.getuid?.() === 0 && { VALISE_SLOT_UID_BASE: String(unusedUid()) }),
    },
    workingDirectory: workplace.temporary,
    logFile: join(workplace.logs, 'worker.log'),
  });
}

/** A uid that no process has: a worker ends everything of its slot's uid, so two demos must not share one. */
function unusedUid(): number {
  const used = new Set(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(ownerOf),
  );
  for (let step = 0; step < FREE_UIDS.count; step += 1) {
    const uid = FREE_UIDS.first + ((process.pid + step) % FREE_UIDS.count);
    if (!used.has(uid)) return uid;
  }
  return FREE_UIDS.first;
}

function ownerOf(pid: string): number | null {
  try {
    return statSync(join('/proc', pid)).uid;
  } catch (error) {
    if (errnoOf(error) === null) throw error;
    return null;
  }
}
