import { join } from 'node:path';
import { Refusal } from '../refusal.js';
import type { DatabaseUrlFiles } from './database.js';
import { writePrivateFile } from './private-file.js';
import { Program, type LogLine } from './program.js';
import type { Pki } from './pki.js';
import type { Workplace } from './workplace.js';

export interface ControlProcess {
  readonly program: Program;
  /** Ports on 127.0.0.1. */
  readonly ports: { readonly ingress: number; readonly management: number; readonly plain: number };
}

const MAIN = join(__dirname, '../../../../../control/apps/control/src/main.js');
const START_DEADLINE_MS = 20_000;

/** Brings the database of `adminUrl` to the current schema, by the product's own command. */
export async function migrate(workplace: Workplace, adminUrl: string): Promise<void> {
  const file = writePrivateFile(join(workplace.settings, 'admin-database-url'), adminUrl);
  try {
    const program = Program.start({
      name: 'control migrate',
      file: MAIN,
      args: ['migrate'],
      environment: { ...surroundings(workplace), VALISE_ADMIN_DATABASE_URL_FILE: file.path },
      workingDirectory: workplace.temporary,
      logFile: join(workplace.logs, 'migrate.log'),
    });
    await program.finish();
  } finally {
    file.remove();
  }
}

export function startControl(
  workplace: Workplace,
  pki: Pki,
  databases: DatabaseUrlFiles,
  names: { readonly trustDomain: string; readonly operatorId: string },
): Program {
  const operators = writePrivateFile(
    join(workplace.settings, 'operators.json'),
    JSON.stringify({ [names.operatorId]: { '*': 'admin' } }),
  );
  return Program.start({
    name: 'control',
    file: MAIN,
    environment: {
      ...surroundings(workplace),
      VALISE_TRUST_DOMAIN: names.trustDomain,
      VALISE_INGRESS_DATABASE_URL_FILE: databases.ingress,
      VALISE_OPERATOR_DATABASE_URL_FILE: databases.operator,
      VALISE_SWEEPER_DATABASE_URL_FILE: databases.sweeper,
      VALISE_INGRESS_LISTEN: '127.0.0.1:0',
      VALISE_MANAGEMENT_LISTEN: '127.0.0.1:0',
      VALISE_PLAIN_LISTEN: '127.0.0.1:0',
      VALISE_TLS_CERTIFICATE_FILE: pki.control.certificateFile,
      VALISE_TLS_KEY_FILE: pki.control.keyFile,
      VALISE_TLS_CLIENT_CA_FILE: pki.caFile,
      VALISE_SECRETS_DIRECTORY: workplace.mountedSecrets,
      VALISE_OPERATORS_FILE: operators.path,
    },
    workingDirectory: workplace.temporary,
    logFile: join(workplace.logs, 'control.log'),
  });
}

/** Waits until control listens and says that it is ready. @throws Refusal */
export async function untilListening(program: Program, signal: AbortSignal): Promise<ControlProcess> {
  const line = await program.waitFor('listening', signal, START_DEADLINE_MS);
  const ports = {
    ingress: port(line, 'ingress'),
    management: port(line, 'management'),
    plain: port(line, 'plain'),
  };
  for (const path of ['livez', 'readyz']) {
    const answer = await fetch(`http://127.0.0.1:${ports.plain}/${path}`, { signal });
    await answer.body?.cancel();
    if (!answer.ok)
      throw new Refusal(`control says that it is not ready (/${path} answers ${answer.status}).`);
  }
  return { program, ports };
}

/** The environment of our programs: nothing is inherited, and temporary files stay in the demo's own place. */
export function surroundings(workplace: Workplace): Record<string, string> {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: workplace.temporary,
    TMPDIR: workplace.temporary,
  };
}

function port(line: LogLine, name: string): number {
  const found = line[name];
  if (typeof found !== 'number') throw new Refusal(`control did not say where its ${name} address is.`);
  return found;
}
