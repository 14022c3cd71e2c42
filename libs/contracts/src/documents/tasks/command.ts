import { readList, readPlain, readRecord } from '../json/plain-data.js';
import type { Refuse } from '../refusal.js';
import { integer, oneOf, text } from '../text/text.js';
import { utf8Bytes } from '../text/utf8.js';

/** What a task runs; keys in the order in which an execution revision writes them. */
export type Command =
  | { readonly kind: 'argv'; readonly file: string; readonly args: readonly string[] }
  | { readonly kind: 'shell'; readonly command: string; readonly shell?: Shell };

export type Shell = '/bin/sh' | '/bin/bash';

const SHELLS: readonly Shell[] = ['/bin/sh', '/bin/bash'];
const MAX_PATH_BYTES = 4096;
const MAX_ARGUMENTS = 256;
const MAX_ARGUMENT_BYTES = 16 * 1024;
const MAX_ARGV_BYTES = 64 * 1024;
const MAX_TIMEOUT_MS = 31_536_000_000;

/** A command of wire.md §3: exactly the keys of its kind; a shell that is not named stays absent. */
export function readCommand(value: unknown, refuse: Refuse): Command {
  const { kind } = readPlain(value, 'command', refuse);
  return oneOf(kind, ['argv', 'shell'], 'command.kind', refuse) === 'argv'
    ? readArgv(value, refuse)
    : readShell(value, refuse);
}

function readArgv(value: unknown, refuse: Refuse): Command {
  const record = readRecord(value, ['kind', 'file', 'args'], [], 'command', refuse);
  const file = readAbsolutePath(record.file, 'command.file', refuse);
  const args = readList(record.args, MAX_ARGUMENTS, 'command.args', refuse).map((argument, index) =>
    text(argument, 0, MAX_ARGUMENT_BYTES, `command.args[${index}]`, refuse),
  );
  const actual = args.reduce((sum, argument) => sum + utf8Bytes(argument), utf8Bytes(file));
  if (actual > MAX_ARGV_BYTES) refuse({ field: 'command', rule: 'max_bytes', limit: MAX_ARGV_BYTES, actual });
  return { kind: 'argv', file, args };
}

function readShell(value: unknown, refuse: Refuse): Command {
  const record = readRecord(value, ['kind', 'command'], ['shell'], 'command', refuse);
  const command = text(record.command, 1, MAX_ARGUMENT_BYTES, 'command.command', refuse);
  const { shell } = record;
  return {
    kind: 'shell',
    command,
    ...(shell !== undefined && { shell: oneOf(shell, SHELLS, 'command.shell', refuse) }),
  };
}

/** A path from the root, of at most 4096 bytes, without NUL. */
export function readAbsolutePath(value: unknown, field: string, refuse: Refuse): string {
  const path = text(value, 1, MAX_PATH_BYTES, field, refuse);
  if (!path.startsWith('/')) refuse({ field, rule: 'absolute_path' });
  return path;
}

/** How long a task may run: 1 ms to a year. */
export const readTimeoutMs = (value: unknown, refuse: Refuse): number =>
  integer(value, 1, MAX_TIMEOUT_MS, 'timeoutMs', refuse);
