import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Program, type LogLine } from '../../apps/cli/src/demo/program.js';
import { programFile } from './built-program.js';

const DEADLINE_MS = 60_000;
const NEVER = new AbortController().signal;

/** Our programs that share a directory. */
export class Programs {
  readonly #started: Program[] = [];

  constructor(private readonly directory: string) {}

  start(name: 'control' | 'worker', settings: Readonly<Record<string, string>>): Program {
    const instance = `${name}-${this.#started.length}`;
    const program = Program.start({
      name: instance,
      file: programFile(name),
      environment: {
        PATH: process.env.PATH ?? '',
        HOME: this.directory,
        TMPDIR: this.directory,
        ...settings,
      },
      workingDirectory: this.directory,
      logFile: this.#logFile(instance),
    });
    this.#started.push(program);
    return program;
  }

  /** What all of them logged. */
  logs(): string {
    return this.#started.map(({ name }) => readFileSync(this.#logFile(name), 'utf8')).join('\n');
  }

  /** Ends all, the youngest first: workers before the control that they report to. */
  async stop(): Promise<void> {
    for (const program of [...this.#started].reverse()) await program.stop();
  }

  #logFile(instance: string): string {
    return join(this.directory, `${instance}.log`);
  }
}

/** The first line with this event that `program` logs. @throws Refusal when it ends, or a minute passes, without it */
export function logged(program: Program, event: string): Promise<LogLine> {
  return program.waitFor(event, NEVER, DEADLINE_MS);
}
