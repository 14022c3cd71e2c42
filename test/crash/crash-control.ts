import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Program } from '../../apps/cli/src/demo/program.js';
import type { Deployment } from '../support/deployment.js';
import { logged } from '../support/programs.js';

/** What is done to a life of control: see control-preload.mjs. */
export type ControlFault = { readonly CRASH_AT: string } | { readonly CUT_AT: 'all' };

/** Control's worker-facing listener in a process of its own, killed and started again at one address. */
export class CrashControl {
  #program: Program | null = null;
  #port = 0;

  constructor(private readonly deployment: Deployment) {}

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  /** Resolves once it listens. */
  async live(fault: ControlFault | null = null): Promise<Program> {
    const { pki, programs, settings } = this.deployment;
    const program = programs.start('control', {
      ...settings.of('ingress', await pki.server('control')),
      VALISE_INGRESS_LISTEN: `127.0.0.1:${this.#port}`,
      NODE_OPTIONS: `--import=${pathToFileURL(join(__dirname, 'control-preload.mjs')).href}`,
      ...fault,
    });
    this.#program = program;
    const { ingress } = await logged(program, 'listening');
    this.#port = Number(ingress);
    return program;
  }

  async stop(): Promise<void> {
    await this.#program?.stop();
  }
}

/** The transactions that a life of control began, or those that lost their connection; each once. */
export function transactionsOf({ lines }: Program, event: 'transaction' | 'cut'): string[] {
  const names = lines.filter((line) => line.event === event).map(({ name }) => String(name));
  return [...new Set(names)];
}
