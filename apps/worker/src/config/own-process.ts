import { spawnSync } from 'node:child_process';
import { closeSync, readdirSync, readFileSync } from 'node:fs';

const O_CLOEXEC = 0o2000000;
const FIRST_OF_OURS = 3;

/**
 * Makes the process fit to hold secrets: no core file of it, no debugger on demand (SIGUSR1 opens one unless someone
 * listens), and no descriptor that its starter left open and every task would inherit.
 */
export function secureOwnProcess(): void {
  spawnSync('prlimit', ['--pid', String(process.pid), '--core=0:0'], { stdio: 'ignore' });
  process.on('SIGUSR1', () => undefined);
  for (const descriptor of inheritableDescriptors()) closeSync(descriptor);
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
