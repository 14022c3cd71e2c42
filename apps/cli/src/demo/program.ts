import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Refusal } from '../refusal.js';
import { endTree, identify } from './process-tree.js';

/** One line of a program's log; every other field is the event's own. */
export interface LogLine {
  readonly event?: unknown;
  readonly time?: unknown;
  readonly msg?: unknown;
  readonly runId?: unknown;
  readonly [field: string]: unknown;
}

export interface ProgramOptions {
  /** What a person calls it. */
  readonly name: string;
  readonly file: string;
  readonly args?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
  /** Both streams of the program, as they come. */
  readonly logFile: string;
  /** Whether the first SIGTERM lets it finish what it does, however long that takes, and a second one stops that. */
  readonly drainsFirst?: boolean;
}

const STOP_GRACE_MS = 2000;
const DRAIN_GRACE_MS = 500;

/** A Node program of ours in a process of its own, watched through the JSON lines it logs. */
export class Program {
  /** All that was logged so far. */
  readonly lines: LogLine[] = [];
  readonly #listeners = new Set<(line: LogLine) => void>();
  readonly #ended: Promise<number | null>;

  private constructor(
    readonly name: string,
    readonly pid: number,
    private readonly child: ChildProcess,
    private readonly drainsFirst: boolean,
  ) {
    this.#ended = once(child, 'close').then(() => child.exitCode);
  }

  /** Starts the program with exactly the environment given, in its own session: our terminal's Ctrl-C is ours. */
  static start(options: ProgramOptions): Program {
    const child = spawn(process.execPath, [options.file, ...(options.args ?? [])], {
      cwd: options.workingDirectory,
      env: options.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    if (child.pid === undefined) throw new Refusal(`${options.name} could not be started.`);
    const program = new Program(options.name, child.pid, child, options.drainsFirst ?? false);
    const log = openSync(options.logFile, 'a', 0o600);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => writeSync(log, chunk));
    }
    child.once('close', () => {
      closeSync(log);
    });
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = parseLine(text);
      if (line) program.#record(line);
    });
    return program;
  }

  /**
   * The first line with this event (or one of these) that was logged or will be.
   * @throws Refusal when the program ends, or `deadlineMs` passes, without it; the abort reason when `signal` says so
   */
  waitFor(events: string | readonly string[], signal: AbortSignal, deadlineMs: number): Promise<LogLine> {
    const wanted = new Set(typeof events === 'string' ? [events] : events);
    const matches = (line: LogLine): boolean => typeof line.event === 'string' && wanted.has(line.event);
    const known = this.lines.find(matches);
    if (known) return Promise.resolve(known);
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void): void => {
        clearTimeout(timer);
        this.#listeners.delete(listener);
        signal.removeEventListener('abort', aborted);
        settle();
      };
      const fail = (error: unknown): void => {
        finish(() => {
          reject(error instanceof Error ? error : new Error('aborted'));
        });
      };
      const listener = (line: LogLine): void => {
        if (matches(line)) {
          finish(() => {
            resolve(line);
          });
        }
      };
      const aborted = (): void => {
        fail(signal.reason);
      };
      const timer = setTimeout(() => {
        fail(new Refusal(`${this.name} did not get so far in ${deadlineMs / 1000} s${this.#lastWords()}.`));
      }, deadlineMs);
      this.#listeners.add(listener);
      signal.addEventListener('abort', aborted);
      if (signal.aborted) aborted();
      void this.#ended.then(() => {
        fail(new Refusal(`${this.name} ended too early${this.#lastWords()}.`));
      });
    });
  }

  /** Waits for the end. @throws Refusal unless it ended by itself with 0 */
  async finish(): Promise<void> {
    if ((await this.#ended) !== 0) throw new Refusal(`${this.name} failed${this.#lastWords()}.`);
  }

  /**
   * Asks the program to end, and waits until it has. Two seconds after it was last asked it is ended, with everything
   * below it, without being asked.
   */
  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    const again = setTimeout(() => {
      if (this.drainsFirst) this.child.kill('SIGTERM');
    }, DRAIN_GRACE_MS);
    const force = setTimeout(
      () => {
        const found = identify(this.pid);
        if (found) endTree(found);
      },
      STOP_GRACE_MS + (this.drainsFirst ? DRAIN_GRACE_MS : 0),
    );
    await this.#ended;
    clearTimeout(again);
    clearTimeout(force);
  }

  #record(line: LogLine): void {
    this.lines.push(line);
    for (const listener of this.#listeners) listener(line);
  }

  /** What the program said last; our programs put no secret and no foreign text into a message. */
  #lastWords(): string {
    const said = this.lines.at(-1)?.msg;
    return typeof said === 'string' ? `: ${said}` : '';
  }
}

function parseLine(text: string): LogLine | null {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === 'object' && line !== null ? (line as LogLine) : null;
  } catch {
    return null;
  }
}
