import { existsSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkerConfig } from '../config/worker-config.js';
import { ok, problem, warning, type Finding } from './finding.js';
import { examinePrivateDirectory } from './private-directory.js';

const SUBJECT = 'state directory';
const MIB = 2 ** 20;
/** overlayfs and tmpfs, as statfs(2) names them. */
const LOST_WITH_THEIR_OWNER: ReadonlySet<number> = new Set([0x794c7630, 0x01021994]);

/** Where inbox and logs lie. Nothing of it is locked, changed or made. */
export function examineStateDirectory(config: WorkerConfig): Finding[] {
  const { stateDirectory } = config;
  const parts = [
    stateDirectory,
    ...['inbox', 'artifacts', 'outputs'].map((part) => join(stateDirectory, part)),
  ];
  const directories = parts
    .filter((part) => part === stateDirectory || existsSync(part))
    .map((part) => examinePrivateDirectory(SUBJECT, part));
  return existsSync(stateDirectory) ? [...directories, ...endurance(config), space(config)] : directories;
}

/** What a container writes beside its volumes is gone with it, and what is in memory with the machine. */
function endurance({ stateDirectory }: WorkerConfig): Finding[] {
  const isLost = LOST_WITH_THEIR_OWNER.has(statfsSync(stateDirectory).type);
  const sentence = `${stateDirectory} may be lost with the container or the machine: mount a volume there`;
  return isLost ? [warning(SUBJECT, sentence)] : [];
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
