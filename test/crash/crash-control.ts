import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Program } from '../../apps/cli/src/demo/program.js';
import { programFile, TRUST_DOMAIN, type Deployment } from '../support/deployment.js';

const DEADLINE_MS = 60_000;

/** What is done to a life of control: see control-crash.mjs. */
export type ControlFault = { readonly CRASH_AT: string } | { readonly CUT_AT: 'all' };

/** Control's worker-facing listener in a process of its own, killed and started again at one address. */
export class CrashControl {
  #program: Program | null = null;
  #port = 0;
  #lives = 0;

  constructor(private readonly deployment: Deployment) {}

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  /** Resolves once it listens. */
  async live(fault: ControlFault | null = null): Promise<Program> {
    const { directory, pki } = this.deployment;
    const { certificateFile, keyFile } = await pki.server('control');
    const name = `crash-control-${this.#lives++}`;
    const program = Program.start({
      name,
      file: programFile('control'),
      environment: {
        PATH: process.env.PATH ?? '',
        HOME: directory,
        TMPDIR: directory,
        VALISE_LISTENERS: 'ingress',
        VALISE_TRUST_DOMAIN: TRUST_DOMAIN,
        VALISE_INGRESS_DATABASE_URL_FILE: join(directory, 'ingress-url'),
        VALISE_INGRESS_LISTEN: `127.0.0.1:${this.#port}`,
        VALISE_PLAIN_LISTEN: '127.0.0.1:0',
        VALISE_TLS_CERTIFICATE_FILE: certificateFile,
        VALISE_TLS_KEY_FILE: keyFile,
        VALISE_TLS_CLIENT_CA_FILE: pki.caFile,
        VALISE_SECRETS_DIRECTORY: join(directory, 'secrets'),
        NODE_OPTIONS: `--import=${pathToFileURL(join(__dirname, 'control-crash.mjs')).href}`,
        ...fault,
      },
      workingDirectory: directory,
      logFile: join(directory, `${name}.log`),
    });
    this.#program = program;
    const { ingress } = await program.waitFor('listening', AbortSignal.timeout(DEADLINE_MS), DEADLINE_MS);
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
