import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { ok, problem, warning, type Finding } from './finding.js';

const FOR_OTHERS = 0o077;

/** Whether the worker may have the directory for itself, or make it. Nothing of it is changed or made. */
export function examinePrivateDirectory(subject: string, path: string): Finding {
  if (!existsSync(path)) return notYet(subject, path);
  const stat = statSync(path);
  if (!stat.isDirectory()) return problem(subject, `${path} is no directory`);
  if (stat.uid !== process.geteuid?.()) return problem(subject, `${path} is another user’s`);
  if (!isWritable(path)) return problem(subject, `${path} cannot be written`);
  return (stat.mode & FOR_OTHERS) === 0
    ? ok(subject, `${path} is the worker’s alone`)
    : warning(subject, `${path} is open to others; the worker takes that away when it starts`);
}

function notYet(subject: string, directory: string): Finding {
  let ancestor = dirname(directory);
  while (!existsSync(ancestor)) ancestor = dirname(ancestor);
  return isWritable(ancestor)
    ? ok(subject, `${directory} is not there yet; the worker makes it`)
    : problem(subject, `${directory} is not there, and the worker may not make it`);
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
