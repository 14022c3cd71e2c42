import { performance } from 'node:perf_hooks';

export interface StepTime {
  readonly name: string;
  readonly ms: number;
}

/** Tells a person what happens, one line a step with the time it took, and remembers the times. */
export class Narrator {
  readonly times: StepTime[] = [];

  constructor(
    private readonly out: NodeJS.WritableStream,
    private readonly colour: boolean,
    private readonly signal: AbortSignal,
  ) {}

  /** Runs one step. `sentence` says afterwards what is true now. A demo that is being stopped starts no further step. */
  async run<T>(
    name: string,
    work: () => Promise<T> | T,
    sentence: string | ((result: T) => string),
  ): Promise<T> {
    this.signal.throwIfAborted();
    const started = performance.now();
    const result = await work();
    const ms = Math.round(performance.now() - started);
    this.times.push({ name, ms });
    const text = typeof sentence === 'string' ? sentence : sentence(result);
    const seconds = `${(ms / 1000).toFixed(2)} s`.padStart(8);
    this.line(`${this.paint('32', 'ok')} ${this.paint('2', seconds)}  ${text}`);
    return result;
  }

  /** A line that belongs to the step before it. */
  detail(text: string): void {
    for (const line of text.split('\n')) this.line(`             ${line}`);
  }

  /** Lines that somebody else wrote: what would steer a terminal, or hide there, is spelled out. */
  quote(text: string): void {
    for (const line of text.split('\n')) this.line(`             | ${visible(line)}`);
  }

  heading(text: string): void {
    this.line('');
    this.line(this.paint('1', text));
  }

  line(text: string): void {
    this.out.write(`${text}\n`);
  }

  private paint(code: string, text: string): string {
    return this.colour ? `\u001b[${code}m${text}\u001b[0m` : text;
  }
}

function visible(line: string): string {
  return line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    if (character === '\t') return character;
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
  });
}
