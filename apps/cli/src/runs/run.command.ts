import { setTimeout as pause } from 'node:timers/promises';
import type { RunView } from '@valise/contracts/wire';
import type { ManagementClient } from '../management/management-client.js';
import { harmless, linesOf, remarksOf, type LogSelection } from './run-log.js';

const LOOK_EVERY_MS = 1000;
const ENDED: readonly RunView['status'][] = ['succeeded', 'failed', 'cancelled', 'timed_out', 'lost'];

/** Whether nothing happens to the run any more unless somebody tries it again. */
export const hasEnded = ({ status }: RunView): boolean => ENDED.includes(status);

/** Where the words go. */
export interface Outputs {
  readonly out: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly say: (line: string) => void;
}

/** Writes the log of the run's newest attempt. `raw`: its records, as they are stored. */
export async function showLog(
  management: ManagementClient,
  projectId: string,
  runId: string,
  selection: LogSelection & { readonly raw: boolean },
  { out, say }: Outputs,
): Promise<void> {
  const log = await management.log(projectId, runId);
  if (selection.raw) {
    out.write(log);
    return;
  }
  for (const piece of linesOf(log, selection)) out.write(out.isTTY === true ? harmless(piece) : piece);
  for (const remark of remarksOf(log)) say(remark);
}

/** Tells each state of the run as it comes, to its end. Gives back the exit code: 0 when it succeeded. */
export async function watchRun(
  management: ManagementClient,
  projectId: string,
  runId: string,
  { out, say }: Outputs,
): Promise<number> {
  let told = '';
  for (;;) {
    const run = await management.run(projectId, runId);
    const state = stateOf(run);
    if (state !== told) out.write(`${new Date().toISOString()} ${state}\n`);
    told = state;
    if (hasEnded(run)) {
      say(`The log is complete now: valise run log ${runId} --project ${projectId}`);
      return run.status === 'succeeded' ? 0 : 1;
    }
    await pause(LOOK_EVERY_MS);
  }
}

function stateOf({ status, attempts }: RunView): string {
  const attempt = attempts.at(-1);
  if (!attempt) return `run ${status}`;
  const reason = attempt.reasonCode === undefined ? '' : `, ${attempt.reasonCode}`;
  const exit = attempt.exitCode === undefined ? '' : `, exit code ${attempt.exitCode}`;
  return `run ${status}; attempt ${attempts.length} ${attempt.status}${exit}${reason}`;
}
