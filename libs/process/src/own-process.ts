import { spawnSync } from 'node:child_process';
import { closeSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

const O_CLOEXEC = 0o2000000;
const FIRST_OF_OURS = 3;

/** Says what could not be had. */
export type Warn = (event: string) => void;

/**
 * Makes the process fit to hold secrets: no core file of it, no debugger on demand (SIGUSR1 opens one unless someone
 * listens), and no descriptor that its starter left open and every task would inherit.
 */
export function secureOwnProcess(warn: Warn): void {
  forbidCoreFiles(warn);
  warnOfSwap(warn);
  process.on('SIGUSR1', () => undefined);
  for (const descriptor of inheritableDescriptors()) closeSync(descriptor);
}

/** Neither this process nor a child writes its memory down when it crashes, also where a handler takes it from a pipe. */
export function forbidCoreFiles(
  warn: Warn,
  prlimit = 'prlimit',
  filter = '/proc/self/coredump_filter',
): void {
  const { status } = spawnSync(prlimit, ['--pid', String(process.pid), '--core=0:0'], { stdio: 'ignore' });
  if (status !== 0) warn('core_limit_not_set');
  try {
    writeFileSync(filter, '0');
  } catch {
    warn('coredump_filter_not_set');
  }
}

/** Memory that is swapped out is written down. */
export function warnOfSwap(warn: Warn, file = '/proc/swaps'): void {
  const [, ...areas] = readFileSync(file, 'latin1').trim().split('\n');
  if (areas.length > 0) warn('swap_in_use');
}

/** Descriptors beside the standard ones that a child would have too. */
export function inheritableDescriptors(): number[] {
  const descriptors = readdirSync('/proc/self/fd').map(Number);
  return descriptors.filter((descriptor) => descriptor >= FIRST_OF_OURS && isInheritable(descriptor));
}

function isInheritable(descriptor: number): boolean {
  try {
    const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1');
    const flags = Number.parseInt(/^flags:\s+([0-7]+)$/m.exec(info)?.[1] ?? '', 8);
    return (flags & O_CLOEXEC) === 0;
  } catch {
    // The one that listed them is closed already.
    return false;
  }
}
