import type { LogLine } from './program.js';

/** What the worker's events mean, in the order in which they come. */
const MEANING: Readonly<Record<string, string>> = {
  claimed: 'wrote the offer down, so that a crash cannot start the task twice',
  starting_acknowledged: 'told control that it is about to start',
  secrets_received: 'received what the references lead to, once, into memory',
  artifact_allocated: 'made room for the log, its lines masked as they come',
  started: 'checked its lease once more and started the process with exactly that environment',
  running_acknowledged: 'told control that it runs',
  exited: 'saw it end, with every process that it left behind',
  artifact_stored: 'handed the masked log to control',
  completed: 'reported the outcome and forgot the material',
  start_failed: 'did not start it, and said why',
  fenced: 'lost its right to the run and ended it',
};

/** The worker's way through one run, each act with the time since the claim. */
export function tellWorkerEvents(lines: readonly LogLine[], runId: string): string[] {
  const own = lines.filter((line) => line.runId === runId && typeof line.time === 'string');
  const first = own[0] ? Date.parse(String(own[0].time)) : 0;
  return own.flatMap(({ event, time }) => {
    const meaning = MEANING[String(event)];
    const seconds = ((Date.parse(String(time)) - first) / 1000).toFixed(2);
    return meaning === undefined ? [] : [`+${seconds} s  the worker ${meaning}`];
  });
}
