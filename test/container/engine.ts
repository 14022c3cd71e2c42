import { spawnSync } from 'node:child_process';
import { platform } from 'node:os';
import { verification } from '../support/verification.js';

const DEADLINE_MS = 60_000;

/** What the engine answers to `docker ARGS`. @throws Error with what it said when it fails, or a minute passes */
export function docker(...args: readonly string[]): string {
  const { status, stdout, stderr } = asked(args);
  if (status !== 0) throw new Error(`docker ${args.join(' ')}\n${stdout}${stderr}`);
  return stdout.trim();
}

/** Whether the engine does it. */
export const dockerDoes = (...args: readonly string[]): boolean => asked(args).status === 0;

/** Output and end of a command that may fail. */
export function asked(args: readonly string[], input?: Buffer) {
  return spawnSync('docker', args, { encoding: 'utf8', timeout: DEADLINE_MS, input });
}

/** Why no worker can be run in containers of this machine; null where one can. */
export function obstacle(): string | null {
  if (!verification.containers) return 'only in npm run verify';
  if (platform() !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux';
  if (/^(?!unix:)/.test(process.env.DOCKER_HOST ?? 'unix:')) return 'needs an engine on this machine';
  return dockerDoes('version') ? null : 'no Docker engine answers';
}
