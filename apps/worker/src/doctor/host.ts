import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { basename } from 'node:path';
import { forbidCoreFiles, warnOfSwap } from '@valise/process';
import { LAUNCH_SHELL } from '../execution/launch-shell.js';
import { ok, problem, warning, type Finding } from './finding.js';

/** Without these the worker does not start, or does not keep what it promises. */
const TOOLS = ['flock', 'prlimit', 'setpriv'];
const CORE_FAULTS: Readonly<Record<string, string>> = {
  core_limit_not_set: 'the core limit cannot be set to 0: a process that crashes may write its memory down',
  coredump_filter_not_set: 'the core filter cannot be set: a crash handler may get the memory of a process',
};

/** The machine: its system, its tools, and whether memory can come to lie on a disk. */
export function examineHost(
  tools: readonly string[] = TOOLS,
  swaps = '/proc/swaps',
  firstProcess = '/proc/1/cmdline',
): Finding[] {
  if (platform() !== 'linux') return [problem('system', `is ${platform()}; the worker needs Linux`)];
  return [
    ok('system', 'is Linux'),
    ...tools.map(toolFinding),
    shellFinding(),
    initFinding(firstProcess),
    ...coreFindings(),
    swapFinding(swaps),
  ];
}

function toolFinding(tool: string): Finding {
  const isThere = spawnSync(tool, ['--version'], { stdio: 'ignore' }).status === 0;
  return isThere ? ok(tool, 'is installed') : problem(tool, 'is not installed: it is in util-linux');
}

function shellFinding(): Finding {
  return LAUNCH_SHELL === '/bin/dash'
    ? ok('shell', 'is dash, which carries every variable')
    : warning('shell', 'is not dash: tasks cannot be given a few variable names, and are refused with them');
}

/** What tasks leave behind becomes the first process's, and stays in the process table until that takes it out. */
function initFinding(firstProcess: string): Finding {
  return isNode(firstProcess)
    ? problem('init', 'is missing: what tasks leave fills the process table (docker run --init, or tini)')
    : ok('init', 'takes what tasks leave out of the process table');
}

function isNode(commandLine: string): boolean {
  try {
    const [command = ''] = readFileSync(commandLine, 'latin1').split('\0');
    return basename(command) === 'node';
  } catch {
    // It is another user's, and hidden from us (hidepid).
    return false;
  }
}

function coreFindings(): Finding[] {
  const findings: Finding[] = [];
  forbidCoreFiles((event) => {
    findings.push(warning('core files', CORE_FAULTS[event] ?? event));
  });
  return findings.length > 0 ? findings : [ok('core files', 'are forbidden, for the worker and its tasks')];
}

function swapFinding(swaps: string): Finding {
  const warned: string[] = [];
  warnOfSwap((event) => warned.push(event), swaps);
  return warned.length > 0
    ? warning('swap', 'is on: memory with secrets in it may be written to a disk')
    : ok('swap', 'is off');
}
