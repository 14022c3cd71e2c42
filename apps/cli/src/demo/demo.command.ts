import { constants } from 'node:os';
import { isAbsolute } from 'node:path';
import { errnoOf, Refusal } from '../refusal.js';
import { CleanUp } from './clean-up.js';
import { Demo } from './demo.js';
import type { DemoOptions } from './demo-options.js';
import { jsonLine, refused, tellResult, type Outcome } from './demo-report.js';
import { Narrator } from './narrator.js';
import { readTaskInput } from './task-input.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs the demo and clears up, however it ends. It also stops when nobody reads its output any more.
 * @returns the exit code: 0 when the run succeeded and nothing was found, 2 for bad input, 128 + n after a signal, else 1
 */
export async function runDemo(options: DemoOptions): Promise<number> {
  const stop = new AbortController();
  const stoppedBy: ((typeof SIGNALS)[number] | 'SIGPIPE')[] = [];
  for (const name of SIGNALS) {
    process.once(name, () => {
      stoppedBy.push(name);
      stop.abort(new Refusal(`Stopped by ${name}.`));
    });
  }
  process.stdout.on('error', (error) => {
    if (errnoOf(error) !== 'EPIPE') throw error;
    if (stop.signal.aborted) return;
    stoppedBy.push('SIGPIPE');
    stop.abort(new Refusal('Nobody reads the output any more.'));
  });
  const narrator = new Narrator(process.stdout, process.stdout.isTTY, stop.signal);
  const cleanUp = new CleanUp();
  let outcome: Outcome;
  try {
    if (options.command[0] !== undefined && !isAbsolute(options.command[0])) {
      throw new Refusal('The command must be given by its absolute path, for example /usr/bin/env.', 2);
    }
    const input = readTaskInput(options.envFile, options.secrets);
    const demo = new Demo(options, input, narrator, stop.signal, cleanUp);
    outcome = tellResult(narrator, demo.proof, await demo.run());
  } catch (error) {
    // Whatever broke off after a signal broke off because of it.
    outcome = refused(stop.signal.aborted ? stop.signal.reason : error);
    if (outcome.sentence !== undefined && stoppedBy[0] !== 'SIGPIPE') console.error(outcome.sentence);
  }
  const { undone, failures } = await cleanUp.run();
  if (failures > 0)
    console.error('Not everything could be removed; look in the directory for temporary files.');
  else if (undone > 0) narrator.line('Everything that was started is stopped, and what it wrote is removed.');
  const [signal] = stoppedBy;
  const kept = options.keep !== null && signal !== 'SIGPIPE';
  const exitCode = signal !== undefined && !kept ? 128 + constants.signals[signal] : outcome.status;
  if (options.json) process.stdout.write(jsonLine(outcome, narrator.times));
  return exitCode;
}
