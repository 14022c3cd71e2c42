import { ValiseError } from '@valise/contracts/failure';
import { textOfLog } from '@valise/contracts/documents';
import type { DeliveryRecordView, RunView } from '@valise/contracts/wire';
import { Refusal } from '../refusal.js';
import type { Narrator, StepTime } from './narrator.js';
import type { Pki } from './pki.js';
import type { Proof, ProofResult } from './proof.js';
import type { StagedControl } from './stage.js';

/** What a demo found out. */
export interface DemoResult {
  readonly run: RunView;
  readonly deliveries: readonly DeliveryRecordView[];
  readonly log: Buffer;
  readonly proof: ProofResult;
}

/** How a demo ended: for the shell, for a program, and where it was refused for a person. */
export interface Outcome {
  /** Exit code of the demo. */
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly sentence?: string;
}

const SHOWN_LINES = 20;

export function tellRun(
  narrator: Narrator,
  run: RunView,
  log: Buffer,
  deliveries: readonly DeliveryRecordView[],
): void {
  const attempt = run.attempts.at(-1);
  const code = attempt?.exitCode === undefined ? '' : `, exit code ${attempt.exitCode}`;
  const reason = attempt?.reasonCode === undefined ? '' : `, reason ${attempt.reasonCode}`;
  narrator.detail(`run ${run.status}${code}${reason}; the task printed:`);
  narrator.quote(textOfLog(log).toString('utf8').trimEnd().split('\n').slice(0, SHOWN_LINES).join('\n'));
  for (const record of deliveries) {
    narrator.detail(
      `delivery to ${record.workerId}, attempt ${record.attemptId}: ${record.bundleCount} bundle, ` +
        `${record.secretCount} secrets, ${record.decision}, ${record.outcome ?? 'outcome unknown'}`,
    );
  }
}

export function tellHowToReach(
  narrator: Narrator,
  { control, management: { origin } }: StagedControl,
  { caFile, operator }: Pki,
  { run, logs }: { readonly run: RunView; readonly logs: string },
): void {
  narrator.line('Ask control as an operator:');
  narrator.line(
    `  curl --cacert ${caFile} --cert ${operator.certificateFile} --key ${operator.keyFile} ` +
      `${origin}/api/v3/projects/${run.projectId}/runs/${run.runId}`,
  );
  narrator.line(`Its description of all routes: ${origin}/openapi.json (with the same certificates)`);
  narrator.line(`Its health: curl http://127.0.0.1:${control.ports.plain}/readyz`);
  narrator.line(`Logs: ${logs}`);
}

/** Tells the result in words, and gives it as data. */
export function tellResult(
  narrator: Narrator,
  { unsearchable, notDistinguishable }: Proof,
  { run, deliveries, proof }: DemoResult,
): Outcome {
  const list = (title: string, labels: readonly string[]): void => {
    if (labels.length > 0) narrator.line(`${title}: ${labels.join(', ')}.`);
  };
  narrator.heading('What this shows');
  list(
    'Not searchable, under 6 bytes',
    unsearchable.map(({ label }) => label),
  );
  list(
    'Not distinguishable, it was there before',
    notDistinguishable.map(({ label }) => label),
  );
  narrator.line(
    `The task itself printed ${proof.taskOutput.names} names and ${proof.taskOutput.values} values; values are masked in its log.`,
  );
  for (const { pattern, place, offset } of proof.found) {
    narrator.line(`FOUND: ${pattern.needle.label}, as ${pattern.form}, in ${place} at byte ${offset}`);
  }
  const clean = proof.found.length === 0 && proof.taskOutput.values === 0;
  narrator.line(
    clean
      ? 'Names and values went from a file to one process, and nothing that we wrote holds any of them.'
      : 'Something of the bundle was written down. That must never happen.',
  );
  return {
    status: clean && run.status === 'succeeded' ? 0 : 1,
    json: {
      outcome: run.status,
      exitCode: run.attempts.at(-1)?.exitCode ?? null,
      deliveries,
      searchedBytes: proof.searchedBytes,
      needles: proof.needles,
      found: proof.found.length,
      notDistinguishable: notDistinguishable.map(({ label }) => label),
      notSearchable: unsearchable.map(({ label }) => label),
      taskOutput: proof.taskOutput,
    },
  };
}

/** A demo that came to no result; exit code 2 where the input must be changed. */
export function refused(error: unknown): Outcome {
  const nothing = {
    exitCode: null,
    deliveries: [],
    searchedBytes: 0,
    needles: 0,
    found: 0,
    notDistinguishable: [],
    notSearchable: [],
    taskOutput: { names: 0, values: 0 },
  };
  const status = error instanceof Refusal ? error.exitCode : 1;
  const sentence = sentenceOf(error);
  return {
    status,
    sentence,
    json: { outcome: status === 2 ? 'refused' : 'failed', error: sentence, ...nothing },
  };
}

/** The last line of `demo --json`. */
export function jsonLine({ json }: Outcome, steps: readonly StepTime[]): string {
  return `${JSON.stringify({ ...json, steps })}\n`;
}

/** A foreign message may quote what must not be shown; its kind and place may be. */
function sentenceOf(error: unknown): string {
  if (error instanceof Refusal || error instanceof ValiseError) return error.message;
  const frames =
    error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)) : [];
  const kind = error instanceof Error ? error.name : typeof error;
  return [`The demo failed in a way that nobody foresaw (${kind}).`, ...frames.slice(0, 5)].join('\n');
}
