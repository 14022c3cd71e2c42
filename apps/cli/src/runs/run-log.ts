import { readLogRecords, type LogStream } from '@valise/contracts/documents';

const LF = 0x0a;
const TAB = 0x09;
const DELETE = 0x7f;

export interface LogSelection {
  readonly streams: readonly LogStream[];
  /** From 1. */
  readonly sinceLine: number;
}

/** The text of the lines from `sinceLine` on, in pieces; a line that is not whole is its last stream's last. */
export function* linesOf(log: Uint8Array, { streams, sinceLine }: LogSelection): Generator<Uint8Array> {
  let line = 1;
  for (const { stream, content, endsLine } of readLogRecords(log)) {
    if (!streams.includes(stream)) continue;
    if (line >= sinceLine) {
      yield content;
      if (endsLine) yield LINE_END;
    }
    if (endsLine) line += 1;
  }
}

/** What the worker itself has to say: what is missing. */
export function remarksOf(log: Uint8Array): string[] {
  return Array.from(readLogRecords(log))
    .filter(({ stream }) => stream === 'valise')
    .map(({ content }) => Buffer.from(content).toString('utf8'));
}

/** For a terminal: what a task prints must not move the cursor, change the title or answer for the keyboard. */
export function harmless(text: Uint8Array): Uint8Array {
  return text.map((byte) =>
    (byte >= 0x20 || byte === LF || byte === TAB) && byte !== DELETE ? byte : QUESTION,
  );
}

const LINE_END = Buffer.of(LF);
const QUESTION = 0x3f;
