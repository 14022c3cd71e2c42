import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const SCRIPT = join(__dirname, 'narrow-path.pl');
const DEADLINE_MS = 20_000;

/** How much of control's bytes come through. */
export interface Width {
  readonly readBytes: number;
  /** Before each read. */
  readonly pauseMs: number;
  /** After so many bytes of a connection nothing comes any more; 0 is no limit. */
  readonly limitBytes: number;
}

/** Slow, but all of it. */
export const SLOW: Width = { readBytes: 1024, pauseMs: 5, limitBytes: 0 };

/** A handshake and the beginning of an answer. */
export const STALLED: Width = { readBytes: 1024, pauseMs: 2, limitBytes: 8 * 1024 };

/** A way to a port of this machine on which control's writes back up, as they do on a bad line. */
export class NarrowPath {
  private constructor(
    private readonly relay: ChildProcess,
    readonly port: number,
  ) {}

  static async open(to: number, { readBytes, pauseMs, limitBytes }: Width): Promise<NarrowPath> {
    const relay = spawn('perl', [SCRIPT, ...[to, readBytes, pauseMs, limitBytes].map(String)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [line] = (await once(relay.stdout, 'data', { signal: AbortSignal.timeout(DEADLINE_MS) })) as [
      Buffer,
    ];
    return new NarrowPath(relay, Number(line));
  }

  /** Takes no further connections; those that there are end with their client. */
  async close(): Promise<void> {
    const ended = once(this.relay, 'exit');
    this.relay.stdin?.end();
    await ended;
  }
}
