import { constants } from 'node:os';
import { isAbsolute } from 'node:path';
import { ValiseError } from '@valise/contracts/failure';
import { Refusal } from '../refusal.js';
import { CleanUp } from './clean-up.js';
import { Demo, type DemoResult } from './demo.js';
import type { DemoOptions } from './demo-options.js';
import { Narrator } from './narrator.js';
import { readTaskInput } from './task-input.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs the demo and clears up, however it ends.
 * @returns the exit code: 0 when the run succeeded and nothing was found, 2 for bad input, 128 + n after a signal, else 1
 */
export async function runDemo(options: DemoOptions): Promise<number> {
  const stop = new AbortController();
  const stoppedBy: (typeof SIGNALS)[number][] = [];
  for (const name of SIGNALS) {
    process.once(name, () => {
      stoppedBy.push(name);
      stop.abort(new Refusal(`Stopped by ${name}.`));
    });
  }
  const narrator = new Narrator(process.stdout, process.stdout.isTTY, stop.signal);
  const cleanUp = new CleanUp();
  let outcome: Outcome;
  try {
    if (options.command[0] !== undefined && !isAbsolute(options.command[0])) {
      throw new Refusal('The command must be given by its absolute path, for example /usr/bin/env.', 2);
    }
    const input = readTaskInput(options.envFile, options.secrets);
    const demo = new Demo(options, input, narrator, stop.signal, cleanUp);
    outcome = told(narrator, demo, await demo.run());
  } catch (error) {
    // Whatever broke off after a signal broke off because of it.
    outcome = refused(stop.signal.aborted ? stop.signal.reason : error);
    if (outcome.sentence !== undefined) console.error(outcome.sentence);
  }
  const { undone, failures } = await cleanUp.run();
  if (failures > 0)
    console.error('Not everything could be removed; look in the directory for temporary files.');
  else if (undone > 0) narrator.line('Everything that was started is stopped, and what it wrote is removed.');
  const [signal] = stoppedBy;
  const exitCode =
    signal !== undefined && options.keep === null ? 128 + constants.signals[signal] : outcome.status;
  if (options.json) process.stdout.write(`${JSON.stringify({ ...outcome.json, steps: narrator.times })}\n`);
  return exitCode;
}

interface Outcome {
  /** Exit code of the demo. */
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly sentence?: string;
}

/** Tells the result in words, and gives it as data. */
function told(narrator: Narrator, demo: Demo, { run, deliveries, proof }: DemoResult): Outcome {
  const { unsearchable, notDistinguishable } = demo.proof;
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
  const succeeded = run.status === 'succeeded';
  narrator.line(
    clean
      ? 'Names and values went from a file to one process, and nothing that we wrote holds any of them.'
      : 'Something of the bundle was written down. That must never happen.',
  );
  return {
    status: clean && succeeded ? 0 : 1,
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

function refused(error: unknown): Outcome {
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
  const code = error instanceof Refusal ? error.exitCode : 1;
  const sentence = sentenceOf(error);
  return {
    status: code,
    sentence,
    json: { outcome: code === 2 ? 'refused' : 'failed', error: sentence, ...nothing },
  };
}

/** A foreign message may quote what must not be shown; its kind and place may be. */
function sentenceOf(error: unknown): string {
  if (error instanceof Refusal || error instanceof ValiseError) return error.message;
  const frames =
    error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)) : [];
  const kind = error instanceof Error ? error.name : typeof error;
  return [`The demo failed in a way that nobody foresaw (${kind}).`, ...frames.slice(0, 5)].join('\n');
}
