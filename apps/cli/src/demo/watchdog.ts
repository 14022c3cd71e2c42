import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import type { DatabaseTraces } from './database.js';
import type { ProcessMark } from './process-mark.js';
import { ancestorsOf, identify, type ProcessId } from './process-tree.js';
import type { Removal } from './workplace.js';

/** What the watchdog is told, one JSON line each, as things come into being. */
export type WatchdogOrder =
  | { readonly order: 'demo'; readonly demo: ProcessId; readonly ancestors: readonly ProcessId[] }
  | { readonly order: 'end'; readonly process: ProcessId; readonly by: 'SIGKILL' | 'SIGQUIT' }
  | { readonly order: 'endMarked'; readonly mark: ProcessMark }
  | { readonly order: 'remove'; readonly directory: Removal }
  | { readonly order: 'clean'; readonly traces: DatabaseTraces }
  | { readonly order: 'done' };

/**
 * A process of its own that clears up after us when we cannot: it holds a pipe that ends with us, and watches npm,
 * whose death by SIGKILL nobody would tell us. Everything that must not outlive the demo is named to it beforehand.
 */
export class Watchdog {
  private constructor(private readonly child: ChildProcessByStdio<Writable, null, null>) {}

  static start(): Watchdog {
    const child = spawn(process.execPath, [join(__dirname, 'watchdog-process.js')], {
      cwd: '/',
      env: {},
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    child.on('error', () => undefined);
    child.stdin.on('error', () => undefined);
    const watchdog = new Watchdog(child);
    const demo = identify(process.pid);
    if (demo) watchdog.#tell({ order: 'demo', demo, ancestors: commandAncestors() });
    return watchdog;
  }

  /**
   * The process ends with us: by SIGKILL, and all below it too, or by SIGQUIT, which is PostgreSQL's way to end at
   * once without leaving shared memory behind.
   */
  end(pid: number, by: 'SIGKILL' | 'SIGQUIT' = 'SIGKILL'): void {
    const found = identify(pid);
    if (found) this.#tell({ order: 'end', process: found, by });
  }

  /** Whatever has the mark by then ends once those processes have. */
  endMarked(mark: ProcessMark): void {
    this.#tell({ order: 'endMarked', mark });
  }

  /** The directory goes with us. */
  remove(directory: Removal): void {
    this.#tell({ order: 'remove', directory });
  }

  /** The demo's database and logins go with us; only for a server that stays. */
  clean(traces: DatabaseTraces): void {
    this.#tell({ order: 'clean', traces });
  }

  /** All is cleared up already: the watchdog leaves. */
  async dismiss(): Promise<void> {
    this.#tell({ order: 'done' });
    await new Promise<void>((resolve) => {
      if (this.child.exitCode !== null || this.child.signalCode !== null) resolve();
      else
        this.child.once('exit', () => {
          resolve();
        });
    });
  }

  #tell(order: WatchdogOrder): void {
    this.child.stdin.write(`${JSON.stringify(order)}\n`);
  }
}

/**
 * The ancestors that make up this one command: up to npm, where npm started us. The shell from which a person typed it
 * is not among them; it may be closed while the demo goes on.
 */
function commandAncestors(): ProcessId[] {
  const npm = process.env.npm_node_execpath;
  if (npm === undefined) return [];
  const chain = ancestorsOf(process.pid);
  const last = chain.findIndex(({ pid }) => executableOf(pid) === realpathSync(npm));
  return chain.slice(0, last + 1);
}

function executableOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return null;
  }
}
