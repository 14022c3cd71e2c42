import { ValiseError } from '../../failure/index.js';

const LF = 0x0a;
const SPACE = 0x20;
const STREAMS = ['stdout', 'stderr', 'valise'] as const;
const WHOLE = 'F';
const PARTIAL = 'P';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Where a record comes from; `valise` is the worker itself, which says what is missing. */
export type LogStream = (typeof STREAMS)[number];

/** A line of a log, or a part of one. */
export interface LogRecord {
  readonly atMs: number;
  readonly stream: LogStream;
  /** Whether the line ends here; if not, it goes on in the stream's next record. */
  readonly endsLine: boolean;
  /** Without the line end. Any bytes but LF. */
  readonly content: Uint8Array;
}

/**
 * Bytes of one stream that came at once, as records of the log format of the Kubernetes container runtime interface:
 * `2026-01-31T12:00:00.000Z stdout F content` and LF, with P for a part of a line. Nothing of the bytes is lost.
 */
export function writeLogRecords(stream: LogStream, atMs: number, bytes: Uint8Array): Buffer {
  const start = `${new Date(atMs).toISOString()} ${stream} `;
  const [whole, partial] = [Buffer.from(`${start}${WHOLE} `), Buffer.from(`${start}${PARTIAL} `)];
  const isPartial = bytes.length > 0 && bytes.at(-1) !== LF;
  const count = endsOf(bytes) + (isPartial ? 1 : 0);
  const records = Buffer.alloc(count * whole.length + bytes.length + (isPartial ? 1 : 0));
  let at = 0;
  for (let from = 0; from < bytes.length;) {
    const found = bytes.indexOf(LF, from);
    const end = found < 0 ? bytes.length : found;
    records.set(found < 0 ? partial : whole, at);
    records.set(bytes.subarray(from, end), at + whole.length);
    at += whole.length + end - from + 1;
    records[at - 1] = LF;
    from = end + 1;
  }
  return records;
}

function endsOf(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) count += 1;
  return count;
}

/** @throws ValiseError LOG_ARTIFACT_INVALID at the first record that is none */
export function* readLogRecords(log: Uint8Array): Generator<LogRecord> {
  for (let from = 0; from < log.length;) {
    const end = log.indexOf(LF, from);
    if (end < 0) throw new ValiseError('LOG_ARTIFACT_INVALID', { rule: 'every record ends with LF' });
    yield readRecord(log.subarray(from, end));
    from = end + 1;
  }
}

/** The streams as they were written, one after the other as they came. */
export function textOfLog(log: Uint8Array, streams: readonly LogStream[] = ['stdout', 'stderr']): Buffer {
  const parts: Uint8Array[] = [];
  for (const { stream, content, endsLine } of readLogRecords(log)) {
    if (!streams.includes(stream)) continue;
    parts.push(content);
    if (endsLine) parts.push(LINE_END);
  }
  return Buffer.concat(parts);
}

const LINE_END = Buffer.of(LF);

function readRecord(line: Uint8Array): LogRecord {
  const [timeEnd, streamEnd, tagEnd] = spacesOf(line);
  const time = asciiOf(line, 0, timeEnd);
  const stream = STREAMS.find((name) => name === asciiOf(line, timeEnd + 1, streamEnd));
  const tag = asciiOf(line, streamEnd + 1, tagEnd);
  if (!TIME.test(time) || stream === undefined || (tag !== WHOLE && tag !== PARTIAL)) {
    throw new ValiseError('LOG_ARTIFACT_INVALID', { rule: 'a record is time, stream, F or P, and content' });
  }
  return { atMs: Date.parse(time), stream, endsLine: tag === WHOLE, content: line.subarray(tagEnd + 1) };
}

function spacesOf(line: Uint8Array): [number, number, number] {
  const first = line.indexOf(SPACE);
  const second = line.indexOf(SPACE, first + 1);
  return [first, second, line.indexOf(SPACE, second + 1)];
}

const asciiOf = (line: Uint8Array, from: number, end: number): string =>
  Buffer.from(line.buffer, line.byteOffset + from, Math.max(0, end - from)).toString('latin1');
