/** One assignment of a dotenv file, with the line on which it starts (from 1). */
export interface DotenvEntry {
  readonly name: string;
  readonly value: string;
  readonly line: number;
}

/** Why a dotenv file is refused: the broken rule in plain words and the line. The line's text stays out of it. */
export class DotenvError extends Error {
  override readonly name = 'DotenvError';

  constructor(
    readonly rule: string,
    readonly line: number,
  ) {
    super(`line ${line}: ${rule}`);
  }
}

const ASSIGNMENT = /^[^\S\n]*(?:export[^\S\n]+)?([\w.-]+)[^\S\n]*=[^\S\n]*/;
const BLANK = /^[^\S\n]*(?:#.*)?$/;
const QUOTES = new Set(['"', "'", '`']);

/**
 * Reads a dotenv file in the dialect of npm's `dotenv`: what is accepted here means there what it means here. Where that
 * package would skip a line, cut a value short or let one assignment hide another, the file is refused instead, because
 * a variable that is silently wrong is worse than none.
 * @throws DotenvError
 */
export function parseDotenv(bytes: Uint8Array): DotenvEntry[] {
  const lines = decode(bytes).split('\n');
  const entries: DotenvEntry[] = [];
  const names = new Map<string, number>();
  for (let at = 0; at < lines.length;) {
    const line = at + 1;
    const text = lines[at] ?? '';
    if (BLANK.test(text)) {
      at += 1;
      continue;
    }
    const assignment = ASSIGNMENT.exec(text);
    if (!assignment?.[1]) throw new DotenvError('expected NAME=value', line);
    const name = assignment[1];
    const { value, linesRead } = readValue(lines, at, assignment[0].length);
    const earlier = names.get(name);
    if (earlier !== undefined) throw new DotenvError(`the name was already set on line ${earlier}`, line);
    names.set(name, line);
    entries.push({ name, value, line });
    at += linesRead;
  }
  return entries;
}

function decode(bytes: Uint8Array): string {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw new DotenvError('the file starts with a byte order mark; save it without', 1);
  }
  const nul = bytes.indexOf(0);
  if (nul >= 0) throw new DotenvError('a NUL byte cannot be part of an environment', lineAt(bytes, nul));
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new DotenvError('the text is not UTF-8', firstBrokenLine(bytes));
  }
  const unix = text.replaceAll('\r\n', '\n');
  const stray = unix.indexOf('\r');
  if (stray >= 0) {
    throw new DotenvError('a carriage return without a line feed', unix.slice(0, stray).split('\n').length);
  }
  return unix;
}

function readValue(lines: string[], at: number, from: number): { value: string; linesRead: number } {
  const rest = (lines[at] ?? '').slice(from);
  const quote = rest.charAt(0);
  if (!QUOTES.has(quote)) return { value: bareValue(lines[at] ?? '', from, at + 1), linesRead: 1 };
  let text = rest;
  let linesRead = 1;
  let end = closingQuote(text, quote);
  while (end < 0) {
    const next = lines[at + linesRead];
    if (next === undefined) throw new DotenvError(`the ${quote} is never closed`, at + 1);
    text += `\n${next}`;
    linesRead += 1;
    end = closingQuote(text, quote);
  }
  if (!BLANK.test(text.slice(end + 1))) {
    throw new DotenvError('something follows the closing quote', at + linesRead);
  }
  const value = text.slice(1, end);
  return {
    value: quote === '"' ? value.replaceAll('\\n', '\n').replaceAll('\\r', '\r') : value,
    linesRead,
  };
}

/** Where `quote` closes the text that it opens; a backslash keeps it from closing. -1 when it does not. */
function closingQuote(text: string, quote: string): number {
  for (let at = 1; at < text.length; at += 1) {
    if (text[at] === quote && text[at - 1] !== '\\') return at;
  }
  return -1;
}

function bareValue(text: string, from: number, line: number): string {
  const hash = text.indexOf('#', from);
  if (hash < 0) return text.slice(from).trim();
  // `pass#word`: some programs read it whole, npm's dotenv reads `pass`.
  if (/\S/.test(text.charAt(hash - 1))) {
    throw new DotenvError('a # inside an unquoted value is ambiguous; put the value in quotes', line);
  }
  return text.slice(from, hash).trim();
}

function lineAt(bytes: Uint8Array, offset: number): number {
  return bytes.subarray(0, offset).filter((byte) => byte === 0x0a).length + 1;
}

/** A line feed is never part of a longer UTF-8 sequence, so each line can be judged alone. */
function firstBrokenLine(bytes: Uint8Array): number {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  for (let start = 0, line = 1; ; line += 1) {
    const feed = bytes.indexOf(0x0a, start);
    try {
      decoder.decode(bytes.subarray(start, feed < 0 ? undefined : feed));
    } catch {
      return line;
    }
    if (feed < 0) return line;
    start = feed + 1;
  }
}
