import { offHeap } from '@valise/process';

/** One variable as the child will have it. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly value: Uint8Array;
}

const QUOTE = 0x27;
const ESCAPED_QUOTE = Buffer.from(`'\\''`);
const HEAD = Buffer.from('export');
const TAIL = Buffer.from('\nQL3_HANDOVER=complete\n');

/**
 * The environment as a shell reads it: one `export` of single-quoted words, so that the whole text is parsed before the
 * first variable (a locale, say) can change how; then the mark that it came whole. The bytes are outside V8's heap and
 * the caller's to zero. Names are validated already.
 */
export function writeHandover(variables: readonly EnvironmentVariable[]): Buffer {
  const words = variables.map(({ name, value }) => name.length + value.length + 4 + 3 * quotesIn(value));
  const text = offHeap(words.reduce((sum, bytes) => sum + bytes, HEAD.length + TAIL.length));
  let at = HEAD.copy(text);
  for (const { name, value } of variables) {
    at += text.write(` ${name}='`, at, 'latin1');
    at = quote(value, text, at);
    text[at++] = QUOTE;
  }
  TAIL.copy(text, at);
  return text;
}

function quotesIn(value: Uint8Array): number {
  let quotes = 0;
  for (const byte of value) if (byte === QUOTE) quotes += 1;
  return quotes;
}

function quote(value: Uint8Array, text: Buffer, start: number): number {
  let at = start;
  for (const byte of value) {
    if (byte === QUOTE) at += ESCAPED_QUOTE.copy(text, at);
    else text[at++] = byte;
  }
  return at;
}
