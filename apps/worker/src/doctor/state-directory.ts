import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { WorkerConfig } from '../config/worker-config.js';
import { ok, problem, warning, type Finding } from './finding.js';

const SUBJECT = 'state directory';
const FOR_OTHERS = 0o077;
const MIB = 2 ** 20;

/** Where inbox and logs lie. Nothing of it is locked, changed or made. */
export function examineStateDirectory(config: WorkerConfig): Finding[] {
  const { stateDirectory } = config;
  if (!existsSync(stateDirectory)) return [notYet(stateDirectory)];
  const parts = [
    stateDirectory,
    ...['inbox', 'artifacts', 'outputs'].map((part) => join(stateDirectory, part)),
  ];
  return [...parts.filter((part) => existsSync(part)).map(ownership), space(config)];
}

function notYet(directory: string): Finding {
  let ancestor = dirname(directory);
  while (!existsSync(ancestor)) ancestor = dirname(ancestor);
  return isWritable(ancestor)
    ? ok(SUBJECT, `${directory} is not there yet; the worker makes it`)
    : problem(SUBJECT, `${directory} is not there, and the worker may not make it`);
}

function ownership(path: string): Finding {
  const stat = statSync(path);
  if (!stat.isDirectory()) return problem(SUBJECT, `${path} is no directory`);
  if (stat.uid !== process.geteuid?.()) return problem(SUBJECT, `${path} is another user’s`);
  if (!isWritable(path)) return problem(SUBJECT, `${path} cannot be written`);
  return (stat.mode & FOR_OTHERS) === 0
    ? ok(SUBJECT, `${path} is the worker’s alone`)
    : warning(SUBJECT, `${path} is open to others; the worker takes that away when it starts`);
}

function space({ stateDirectory, logLimits, slots }: WorkerConfig): Finding {
  const { bavail, bsize } = statfsSync(stateDirectory);
  const free = bavail * bsize;
  const wanted = logLimits.reserveBytes + slots * logLimits.maxBytes;
  const sentence = `${mib(free)} MiB are free`;
  if (free <= logLimits.reserveBytes) {
    return problem(
      'disk',
      `${sentence}, no more than VALISE_LOG_DISK_RESERVE_BYTES keeps free: no task starts`,
    );
  }
  return free < wanted
    ? warning(
        'disk',
        `${sentence}; with a full log in each slot ${mib(wanted)} MiB are needed, so logs may be cut`,
      )
    : ok('disk', sentence);
}

const mib = (bytes: number): number => Math.floor(bytes / MIB);

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
